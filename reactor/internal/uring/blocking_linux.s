// The compiler takes functions without a body in a package that has an assembly file.
