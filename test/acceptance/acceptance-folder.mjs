import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BESIDE_THE_CHECKOUT = fileURLToPath(new URL('../../../shared/acceptance/', import.meta.url))

/**
 * A working copy of one part of the acceptance folder, or undefined when the folder is not there: what others recorded
 * and wrote is not ours to ship, so it lies beside the checkout and only some machines have it. The copy is deleted at exit.
 */
export function copyAcceptance(part) {
  const folder = process.env.MILLRACE_ACCEPTANCE ?? BESIDE_THE_CHECKOUT
  const source = join(folder, part)
  if (!existsSync(source)) {
    console.log(`Not run: there is no ${source} (MILLRACE_ACCEPTANCE names another acceptance folder).`)
    return undefined
  }
  const copy = mkdtempSync(join(tmpdir(), `millrace-${part}-`))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  copyWritable(source, copy)
  return copy
}

/** The original may be read-only; npm has to write into the copy. */
function copyWritable(source, target) {
  mkdirSync(target, { recursive: true })
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) copyWritable(from, to)
    else {
      copyFileSync(from, to)
      chmodSync(to, statSync(from).mode | 0o200)
    }
  }
}
