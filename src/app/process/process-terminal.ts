import { createInterface } from 'node:readline'
import type { Terminal } from '../../cli/cli-deps.ts'
import type { Environment } from '../config/read/environment.ts'

/** Colours are for eyes: a TTY that can show them, unless somebody has said otherwise. */
function coloursOn(stream: { readonly isTTY?: boolean }, environment: Environment): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = environment
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR || TERM === 'dumb') return false
  return stream.isTTY === true
}

export function createProcessTerminal(environment: Environment): Terminal {
  const { stdin, stdout, stderr } = process
  // `millrace keys list | head -1`: who has read enough is no failure of ours.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    colours: { out: coloursOn(stdout, environment), err: coloursOn(stderr, environment) },
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    attended: stdout.isTTY === true && stderr.isTTY === true,
    ask: (question) =>
      new Promise((resolve) => {
        const lines = createInterface({ input: stdin, output: stderr })
        lines.question(question, (answer) => {
          resolve(answer)
          lines.close()
        })
        lines.once('close', () => resolve(undefined))
        // The line editor takes Ctrl+C for itself; here it means what it means everywhere.
        lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      }),
  }
}
