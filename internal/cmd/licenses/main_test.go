package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALicenseIsKnownByItsText(t *testing.T) {
	own, err := os.ReadFile("../../../LICENSE")
	require.NoError(t, err)
	require.Equal(t, "MIT", licenseOf(string(own)))
	require.Equal(t, "Apache-2.0", licenseOf("   Apache License\n   Version 2.0, January 2004\n"))
	require.Equal(t, "MPL-2.0", licenseOf("Mozilla Public License, version 2.0\n"))
	const bsd = "Redistributions in binary form must reproduce the above\ncopyright notice."
	require.Equal(t, "BSD-2-Clause", licenseOf(bsd))
	require.Equal(t, "BSD-3-Clause", licenseOf(bsd+" Neither the name … may be used to endorse or promote products derived from"))
	require.Empty(t, licenseOf("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007"))
}

func TestAModuleWithoutAnAllowedLicenseIsAnError(t *testing.T) {
	dir := t.TempDir()
	_, err := licenseIn(dir)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("GNU AFFERO GENERAL PUBLIC LICENSE"), 0o644))
	_, err = licenseIn(dir)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "COPYING"), []byte("Mozilla Public License Version 2.0"), 0o644))
	license, err := licenseIn(dir)
	require.NoError(t, err)
	require.Equal(t, "MPL-2.0", license)
}
