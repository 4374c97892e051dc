import './bootstrap/require-node.mjs'
import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole, consoleStands } from './bootstrap/console.mjs'
import { dependenciesStand, installDependencies } from './bootstrap/dependencies.mjs'
import { buildDocs, docsStand } from './bootstrap/docs.mjs'
import { fail } from './bootstrap/failure.mjs'
import { buildProgram, PROGRAM, programStands } from './bootstrap/program.mjs'
import { withLock } from './bootstrap/with-lock.mjs'

export const ROOT = resolve(fileURLToPath(new URL('..', import.meta.url)))

const printToStderr = (line) => process.stderr.write(`${line}\n`)

/**
 * Installs packages and builds program, console and documentation if needed. If nothing changed, it computes a few hashes and prints nothing.
 * Returns the path of the program.
 */
export async function bootstrap({ root = ROOT, print = printToStderr, rebuild = false } = {}) {
  const stands = () =>
    dependenciesStand(root) && !rebuild && programStands(root) && consoleStands(root) && docsStand(root)
  if (!stands()) {
    await withLock(join(root, '.cache', 'bootstrap.lock'), { print }, async () => {
      if (!dependenciesStand(root)) await installDependencies({ root, print })
      if (rebuild || !programStands(root)) await buildProgram({ root, print })
      if (rebuild || !consoleStands(root)) buildConsole({ root, print })
      if (rebuild || !docsStand(root)) await buildDocs({ root, print })
    })
  }
  return join(root, PROGRAM)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) {
  await bootstrap().catch(fail)
}
