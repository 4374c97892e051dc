import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { InitOutcome } from '../cli/cli-deps.ts'
import { initTemplate } from './config/init-template.ts'
import { writePrivately } from './write-privately.ts'

/** Only its owner may read it: sooner or later somebody writes a provider's key into it. */
export async function writeTemplate(cwd: string, file: string, mode: { overwrite: boolean }): Promise<InitOutcome> {
  const path = resolve(cwd, file)
  try {
    if (mode.overwrite) await writePrivately(path, initTemplate())
    else await writeFile(path, initTemplate(), { flag: 'wx', mode: 0o600 })
    return { kind: 'written', path }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return { kind: 'exists', path }
    throw new Error(`${path} could not be written`, { cause: error })
  }
}
