import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { FIRST_LOAD_MAX, firstLoad } from './console-size.mjs'
import { explainWrite, Failure } from './failure.mjs'
import { filesBelow, fingerprint, textOf } from './fingerprint.mjs'

/** Beside the console's folder, because everything inside is served. */
export const CONSOLE_STAMP_NAME = '.millrace-console-stamp'
const STAMP = `dist/${CONSOLE_STAMP_NAME}`
const BUILT = '.cache/console'
const SHIPPED = 'dist/console'

/** Inputs of the bundle. The build erases the types of `src/contract`, so they are no input. */
const SOURCES = ['console', 'src/lib/anywhere']
const isSource = (path) => !/\.test\.tsx?$/.test(path) && path !== 'tsconfig.json'

const sourcesIn = (root, folder) =>
  filesBelow(join(root, folder))
    .filter(isSource)
    .map((path) => `${folder}/${path}`)

const stampOf = (root) =>
  fingerprint(root, ['package-lock.json', ...SOURCES.flatMap((folder) => sourcesIn(root, folder))])

/** Without console sources there is nothing to build. */
export const consoleStands = (root) =>
  textOf(join(root, 'console/index.html')) === undefined ||
  (textOf(join(root, STAMP)) === stampOf(root) && textOf(join(root, SHIPPED, 'index.html')) !== undefined)

/** Builds into a separate folder and puts it into place when complete, so that a failed build leaves the files as they are. */
export function buildConsole({ root, print }) {
  const started = Date.now()
  const stamp = stampOf(root)
  bundle(root)
  try {
    const size = firstLoad(join(root, BUILT), readFileSync(join(root, 'console/routes.tsx'), 'utf8'))
    if (size > FIRST_LOAD_MAX) throw tooLarge(size)
    rmSync(join(root, BUILT, '.vite'), { recursive: true, force: true })
    compressAll(join(root, BUILT))
    rmSync(join(root, STAMP), { force: true })
    rmSync(join(root, SHIPPED), { recursive: true, force: true })
    mkdirSync(join(root, 'dist'), { recursive: true })
    cpSync(join(root, BUILT), join(root, SHIPPED), { recursive: true })
    writeFileSync(join(root, STAMP), stamp)
    const seconds = ((Date.now() - started) / 1000).toFixed(1)
    print(`Built the console in ${seconds} s; its first load is ${(size / 1000).toFixed(0)} kB.`)
  } catch (error) {
    throw explainWrite(error, root)
  }
}

const tooLarge = (size) =>
  new Failure(
    `The first load of the console is ${size} bytes (gzip); ${FIRST_LOAD_MAX} are allowed.`,
    'Load code with the page that needs it, or remove it.',
  )

function bundle(root) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [
    vite,
    'build',
    '--config',
    'console/vite.config.ts',
    '--outDir',
    join(root, BUILT),
    '--logLevel',
    'warn',
  ]
  const result = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (result.status === 0) return
  const output = [result.stdout, result.stderr, result.error?.message].filter(Boolean).join('\n').trim()
  throw new Failure(
    `${output}\n\nThe build of the console failed.`,
    'Correct the lines named above, or restore the files (git checkout console), then run the command again.',
  )
}

/** Compresses once at build time, so that no request waits for it. */
export function compressAll(folder) {
  for (const path of filesBelow(folder)) {
    const bytes = readFileSync(join(folder, path))
    const brotli = {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }
    writeFileSync(join(folder, `${path}.br`), brotliCompressSync(bytes, brotli))
    writeFileSync(join(folder, `${path}.gz`), gzipSync(bytes, { level: 9 }))
  }
}
