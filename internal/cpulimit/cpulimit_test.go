package cpulimit

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	v2Mount = "30 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mount = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
		"33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n" +
		"35 31 0:29 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw,relatime master:1 - cgroup cgroup rw,cpu,cpuacct\n"
	v1Groups = "4:cpuset:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/system.slice\n"
)

func TestLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  float64 // 0: none
	}{
		"nothing can be read": {nil, 0},
		"no mounts":           {map[string]string{"/proc/self/cgroup": "0::/\n"}, 0},
		"v2": {map[string]string{
			"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": v2Mount, "/sys/fs/cgroup/cpu.max": "150000 100000\n",
		}, 1.5},
		"v2, none": {map[string]string{
			"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": v2Mount, "/sys/fs/cgroup/cpu.max": "max 100000\n",
		}, 0},
		"v2, no file": {map[string]string{"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": v2Mount}, 0},
		"v2, a group above is tighter": {map[string]string{
			"/proc/self/cgroup": "0::/pod/app\n", "/proc/self/mountinfo": v2Mount,
			"/sys/fs/cgroup/pod/app/cpu.max": "400000 100000\n", "/sys/fs/cgroup/pod/cpu.max": "300000 100000\n",
		}, 3},
		"v2, a group above is wider": {map[string]string{
			"/proc/self/cgroup": "0::/pod/app\n", "/proc/self/mountinfo": v2Mount,
			"/sys/fs/cgroup/pod/app/cpu.max": "50000 100000\n", "/sys/fs/cgroup/pod/cpu.max": "max 100000\n",
		}, 0.5},
		"v2, an escaped mount": {map[string]string{
			"/proc/self/cgroup":    "0::/a\n",
			"/proc/self/mountinfo": `30 23 0:28 /a /my\040groups rw - cgroup2 cgroup2 rw` + "\n",
			"/my groups/cpu.max":   "100000 100000\n",
		}, 1},
		"v1": {map[string]string{
			"/proc/self/cgroup": v1Groups, "/proc/self/mountinfo": v1Mount,
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "200000\n",
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000\n",
		}, 4},
		"v1, none": {map[string]string{
			"/proc/self/cgroup": v1Groups, "/proc/self/mountinfo": v1Mount,
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "-1\n",
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 0},
		"v1 is before v2": {map[string]string{
			"/proc/self/cgroup": "0::/\n1:cpu:/docker/1\n", "/proc/self/mountinfo": v2Mount + v1Mount,
			"/sys/fs/cgroup/cpu.max":                       "100000 100000\n",
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "200000\n",
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 2},
		"out of the namespace": {map[string]string{
			"/proc/self/cgroup": "0::/../other\n", "/proc/self/mountinfo": v2Mount, "/sys/fs/cgroup/cpu.max": "100000 100000\n",
		}, 0},
		"another subtree": {map[string]string{
			"/proc/self/cgroup": "3:cpu:/docker/12\n", "/proc/self/mountinfo": v1Mount,
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "200000\n",
			"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 0},
		"nonsense": {map[string]string{
			"/proc/self/cgroup": "\n:\n::\n0::\n0::/\nx", "/proc/self/mountinfo": "\n - \n1 2 3 4 5 - \n" + v2Mount,
			"/sys/fs/cgroup/cpu.max": "1\n",
		}, 0},
		"a period of 0": {map[string]string{
			"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": v2Mount, "/sys/fs/cgroup/cpu.max": "100000 0\n",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cpus, ok := limit(func(name string) (string, error) {
				text, found := c.files[name]
				if !found {
					return "", fs.ErrNotExist
				}
				return text, nil
			})
			require.Equal(t, c.want > 0, ok)
			require.InDelta(t, c.want, cpus, 1e-9)
		})
	}
}

// Reading the limit is no error on any machine.
func TestLimitOfThisProcess(t *testing.T) {
	if cpus, ok := Limit(); ok {
		require.Positive(t, cpus)
	}
}

func FuzzLimit(f *testing.F) {
	f.Add(v1Groups, v1Mount, "100000 100000\n")
	f.Add("0::/a/b\n", v2Mount, "max 100000\n")
	f.Fuzz(func(t *testing.T, groups, mounts, file string) {
		cpus, ok := limit(func(name string) (string, error) {
			switch name {
			case "/proc/self/cgroup":
				return groups, nil
			case "/proc/self/mountinfo":
				return mounts, nil
			}
			return file, nil
		})
		require.Equal(t, ok, cpus > 0)
	})
}
