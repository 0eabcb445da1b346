#!/bin/sh
# Checks the model of parking: no run of it goes wrong, and each mutant's does.
# Exits with 1 if that is not so. See README.md.
set -u

# checkOne DIRECTORY NAME OPTION... checks one model. The name says what is
# expected: mutant-* goes wrong, ends-* also has no run without an end.
checkOne() {
	dir=$1/$2 name=$2
	shift 2
	mkdir "$dir" && cp park.pml "$dir" && cd "$dir" || exit 1
	build="-O1 -DSAFETY" run=
	case $name in
	ends-*) build="-O1 -DNP" run=-l ;;
	mutant-*) build="-O0 -DSAFETY" ;; # compiling is what takes the time
	esac
	{
		spin "$@" -a park.pml && cc -w $build -o pan pan.c &&
			./pan -m100000 -w22 $run
	} >log 2>&1
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
	wrong=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth.*/\1/p' log)
	verdict=FAILED
	case $name in
	mutant-*) grep -q '^pan:1: assertion violated' log && verdict=ok ;;
	*) grep -q 'errors: 0' log && ! grep -Eiq 'too small|out of memory|not completed' log && verdict=ok ;;
	esac
	printf '%-6s %-27s %8s states  %s\n' $verdict "$name" "${states:-no}" "${wrong:-nothing wrong}"
	[ $verdict = ok ] && return
	tail -n 30 log | sed 's/^/    /'
	return 1
}

if [ "${1-}" = one ]; then
	shift
	checkOne "$@"
	exit
fi

cd "$(dirname "$0")" || exit 1
for tool in spin cc; do
	if ! command -v $tool >/dev/null; then
		echo "$tool is not installed: skipped"
		exit 0
	fi
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

# The least of each that has every race in question: see the model for the options.
two="-DWORKERS=2 -DAWAKE=1 -DEVENTS=2 -DSPAWNS=0"
twoSpawn="-DWORKERS=2 -DAWAKE=2 -DEVENTS=1 -DSPAWNS=1"
three="-DWORKERS=3 -DAWAKE=0 -DEVENTS=2 -DSPAWNS=0"
threeSpawn="-DWORKERS=3 -DAWAKE=0 -DEVENTS=1 -DSPAWNS=2"
threeAwake="-DWORKERS=3 -DAWAKE=2 -DEVENTS=1 -DSPAWNS=0 -DSTUCK=0"
four="-DWORKERS=4 -DAWAKE=1 -DEVENTS=1 -DSPAWNS=0 -DSTUCK=0"

# Two at a time, the long ones first.
xargs -P 2 -L 1 sh ./check.sh one "$tmp" <<END
3-workers-private $three -DSTUCK=0 -DPRIVATE
3-workers-awake $threeAwake
2-workers $two
3-workers $three
3-workers-spawn $threeSpawn
4-workers $four
2-workers-spawn $twoSpawn
ends-2-workers $twoSpawn
ends-3-workers $threeSpawn -DSTUCK=0
mutant-look-before-trypark -DMUTANT_LOOK_BEFORE_TRYPARK $threeSpawn
mutant-look-before-bit -DMUTANT_LOOK_BEFORE_BIT $threeSpawn
mutant-look-before-stop -DMUTANT_LOOK_BEFORE_STOP $threeSpawn
mutant-no-look -DMUTANT_NO_LOOK $threeSpawn
mutant-no-last-searcher -DMUTANT_NO_LAST_SEARCHER $three
mutant-claim-no-retry -DMUTANT_CLAIM_NO_RETRY $twoSpawn
mutant-counted-twice -DMUTANT_COUNTED_TWICE $four
mutant-unpark-no-swap -DMUTANT_UNPARK_NO_SWAP $three
mutant-wake-not-kept -DMUTANT_WAKE_NOT_KEPT $three
mutant-fetch-gap -DMUTANT_FETCH_GAP $two
END
