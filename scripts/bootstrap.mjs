import './bootstrap/require-node.mjs'
import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole, consoleStands } from './bootstrap/console.mjs'
import { dependenciesStand, installDependencies } from './bootstrap/dependencies.mjs'
import { fail } from './bootstrap/failure.mjs'
import { buildProgram, PROGRAM, programStands } from './bootstrap/program.mjs'
import { withLock } from './bootstrap/with-lock.mjs'

export const ROOT = resolve(fileURLToPath(new URL('..', import.meta.url)))

const sayOnStderr = (line) => process.stderr.write(`${line}\n`)

/**
 * Brings a checkout to the state in which it can run: packages installed, program and console built. When all already stand, this is
 * a few hashes and not one printed word. Returns the path of the program.
 */
export async function bootstrap({ root = ROOT, say = sayOnStderr, rebuild = false } = {}) {
  const stands = () => dependenciesStand(root) && !rebuild && programStands(root) && consoleStands(root)
  if (!stands()) {
    await withLock(join(root, '.cache', 'bootstrap.lock'), { say }, async () => {
      if (!dependenciesStand(root)) await installDependencies({ root, say })
      if (rebuild || !programStands(root)) buildProgram({ root, say })
      if (rebuild || !consoleStands(root)) buildConsole({ root, say })
    })
  }
  return join(root, PROGRAM)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) {
  await bootstrap().catch(fail)
}
