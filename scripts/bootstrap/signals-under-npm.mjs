const SIGNALS = new Set(['SIGINT', 'SIGTERM'])
/** No person presses Ctrl+C twice as quickly as npm passes it on. */
const ECHO_MS = 250
const SHELL_CHECK_MS = 200

/**
 * Between a terminal and us stand npm and a shell, and they get signals wrong in two ways. Some shells make way for us:
 * then npm's copy of a Ctrl+C arrives on top of the terminal's own, and a server takes a second signal for "stop waiting
 * for open streams". Others stay, and die of npm's SIGTERM without a word to us. So an echo is dropped, and the death of
 * the shell counts as the signal that it kept to itself. Must run before anybody listens.
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
