const SIGNALS = new Set(['SIGINT', 'SIGTERM'])
/** A person cannot press Ctrl+C twice as quickly as npm forwards it. */
const ECHO_MS = 250
const SHELL_CHECK_MS = 200

/**
 * npm and a shell sit between the terminal and this process, and they mishandle signals in two ways. Some shells exec the program: then
 * npm's copy of a Ctrl+C arrives after the terminal's own, and a server takes a second signal as "cut open streams". Other shells stay,
 * and die of npm's SIGTERM without forwarding it. So a duplicate is dropped, and the shell's death counts as the signal. Must run before
 * any other listener is registered.
 */
export function followNpm(target, now = () => performance.now()) {
  const heard = new Map()
  const emit = target.emit
  target.emit = function (event, ...args) {
    if (SIGNALS.has(event)) {
      const before = heard.get(event)
      heard.set(event, now())
      if (before !== undefined && now() - before < ECHO_MS) return true
    }
    return emit.call(this, event, ...args)
  }

  const shell = target.ppid
  const check = setInterval(() => {
    if (target.ppid === shell) return
    clearInterval(check)
    if (heard.size === 0) target.kill(target.pid, 'SIGTERM')
  }, SHELL_CHECK_MS)
  check.unref()
  return () => clearInterval(check)
}
