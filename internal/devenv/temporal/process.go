package temporal

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// start starts a child in a process group of its own, so that Ctrl-C reaches only its parent. On Linux it
// also dies with its parent, however that dies; the thread that started it must live on for that.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the child is told of this thread's end
		err := cmd.Start()
		started <- err
		if err == nil {
			select {}
		}
	}()
	return <-started
}

func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
