import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePackages } from './bundle-packages.mjs'
import { CONSOLE_STAMP_NAME } from './console.mjs'
import { DOCS_STAMP_NAME } from './docs.mjs'
import { explainWrite, Failure } from './failure.mjs'
import { filesBelow, fingerprint, textOf } from './fingerprint.mjs'

const STAMP_NAME = '.millrace-stamp'
const STAMP = `dist/${STAMP_NAME}`
export const PROGRAM = 'dist/app/main.js'

/** Inputs of the build. Tests are beside the code and are excluded. */
const isSource = (path) => !path.endsWith('.test.ts')
const sources = (root) => filesBelow(join(root, 'src')).filter(isSource)

const stampOf = (root) =>
  fingerprint(root, [
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/bootstrap/bundle-packages.mjs',
    ...sources(root).map((path) => `src/${path}`),
  ])

export const programStands = (root) =>
  textOf(join(root, STAMP)) === stampOf(root) && textOf(join(root, PROGRAM)) !== undefined

export async function buildProgram({ root, print }) {
  const started = Date.now()
  print('Building ...')
  // Without its stamp an incomplete build is not used.
  rmSync(join(root, STAMP), { force: true })
  const stamp = stampOf(root)
  compile(root)
  await bundlePackages(root)
  try {
    const stale = staleOutputs(filesBelow(join(root, 'dist')), sources(root))
    for (const path of stale) rmSync(join(root, 'dist', path))
    if (stale.length > 0) removeEmptyFolders(join(root, 'dist'))
    if (textOf(join(root, PROGRAM)) !== undefined) chmodSync(join(root, PROGRAM), 0o755)
    writeFileSync(join(root, STAMP), stamp)
  } catch (error) {
    throw explainWrite(error, root)
  }
  print(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
}

// A type error writes nothing, so a server that runs from dist/ keeps its files.
function compile(root) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = spawnSync(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json', '--noEmitOnError', '--pretty', 'false'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
  if (result.status === 0) return
  const output = [result.stdout, result.stderr, result.error?.message].filter(Boolean).join('\n').trim()
  throw new Failure(
    `${output}\n\nThe build failed.`,
    'Correct the lines named above, or restore the files (git checkout src), then run the command again.',
  )
}

/** Files in dist, except those of the console, the documentation and the packages, without a source file. Loading one would run stale code. */
export function staleOutputs(outputs, sourceFiles) {
  const expected = new Set([STAMP_NAME, CONSOLE_STAMP_NAME, DOCS_STAMP_NAME])
  for (const path of sourceFiles) {
    if (path.endsWith('.json')) expected.add(path)
    if (!path.endsWith('.ts')) continue
    const output = path.replace(/\.ts$/, '.js')
    expected.add(output).add(`${output}.map`)
  }
  return outputs.filter((path) => !expected.has(path) && !/^(?:console|docs|packages)\//.test(path))
}

function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
