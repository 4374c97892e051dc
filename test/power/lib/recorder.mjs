import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('record-writes.c', import.meta.url))

/** Why nothing can be recorded here; undefined where it can. */
export function missingForRecording() {
  if (process.platform !== 'linux') return 'the recorder of writes is preloaded as Linux does it'
  if (spawnSync('cc', ['--version']).status !== 0) return 'there is no C compiler (cc)'
  return undefined
}

export function compileRecorder(folder) {
  const library = join(folder, 'record-writes.so')
  const { status, stderr } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-pthread', '-o', library, SOURCE])
  if (status !== 0) throw new Error(`cc could not compile ${SOURCE}:\n${stderr}`)
  return library
}

/** What a program is told so that its changes below `folder` are recorded in `logs`; `control` lets its disk be full. */
export function recordingEnvironment({ library, folder, logs, control }) {
  mkdirSync(logs, { recursive: true })
  if (control !== undefined) writeFileSync(control, '\0')
  return {
    LD_PRELOAD: library,
    POWER_FOLDER: folder,
    POWER_LOGS: logs,
    ...(control === undefined ? {} : { POWER_CONTROL: control }),
    // What goes through a ring of the kernel's is not seen by a library.
    UV_USE_IO_URING: '0',
  }
}
