import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Failure } from './failure.mjs'
import { filesBelow } from './fingerprint.mjs'

/**
 * Packages of which each start loads many files: Node takes longer to find a small file than to compile it. Each becomes one file of
 * `dist`, which saves a sixth of the CPU time of a start.
 */
export const BUNDLED = [
  ...['commander', 'hono', 'hono/router/trie-router', 'hono/utils/cookie', 'kysely', 'prom-client', 'yaml', 'zod'],
]
const NAMES_OF = 'names-of:'
const LICENCES = 'LICENSES.txt'
/** Below `dist`. */
const BUNDLES = 'packages'

const isCompiled = (path) => path.endsWith('.js') && !/^(?:console|docs|packages)\//.test(path)
const bundleOf = (specifier) => `${BUNDLES}/${specifier.replaceAll('/', '-')}.js`

/** Bundles the packages into `dist` with their licences, and lets the compiled files import the bundles. */
export async function bundlePackages(root) {
  const dist = join(root, 'dist')
  const compiled = filesBelow(dist).filter(isCompiled)
  const code = new Map(compiled.map((path) => [path, readFileSync(join(dist, path), 'utf8')]))
  const specifiers = BUNDLED.filter((each) => [...code.values()].some((text) => text.includes(` from '${each}'`)))
  if (specifiers.length === 0) return
  const folder = join(dist, BUNDLES)
  const written = await bundle(root, specifiers, folder)
  const packages = new Set(written.flatMap(({ moduleIds }) => moduleIds.map(packageFolderOf)).filter(Boolean))
  writeFileSync(join(folder, LICENCES), licencesOf([...packages].sort()))
  const kept = new Set([...written.map(({ fileName }) => fileName), LICENCES])
  for (const path of filesBelow(folder)) if (!kept.has(path)) rmSync(join(folder, path))
  for (const [path, text] of code) {
    const linked = linkBundles(text, path)
    if (linked !== text) writeFileSync(join(dist, path), linked)
  }
}

async function bundle(root, specifiers, folder) {
  // It comes with vite, and is there once the packages are installed.
  const { rolldown } = await import(pathToFileURL(join(root, 'node_modules/rolldown/dist/index.mjs')).href)
  const bundled = await rolldown({
    input: Object.fromEntries(specifiers.map((each) => [each.replaceAll('/', '-'), `${NAMES_OF}${each}`])),
    cwd: root,
    platform: 'node',
    plugins: [{ name: 'names', resolveId: (id) => (id.startsWith(NAMES_OF) ? id : undefined), load: exportNames }],
    // Loaded where traces are sent.
    external: ['@opentelemetry/api'],
  })
  try {
    const { output } = await bundled.write({ dir: folder, format: 'esm', chunkFileNames: 'shared-[hash].js' })
    return output
  } finally {
    await bundled.close()
  }
}

/** Packages of CommonJS modules have no names to export but those that Node finds. */
async function exportNames(id) {
  if (!id.startsWith(NAMES_OF)) return undefined
  const specifier = id.slice(NAMES_OF.length)
  const names = Object.keys(await import(specifier)).filter((name) => name !== 'module.exports')
  return `export { ${names.join(', ')} } from '${specifier}'`
}

/** Static imports of bundled packages become imports of their bundles. */
export const linkBundles = (code, path) =>
  code.replace(/^((?:import|export)\b[^'\n]*\bfrom )'([^'.][^']*)'/gm, (whole, before, specifier) =>
    BUNDLED.includes(specifier) ? `${before}'${relativeTo(path, bundleOf(specifier))}'` : whole,
  )

function relativeTo(path, target) {
  const relative = posix.relative(posix.dirname(path), target)
  return relative.startsWith('.') ? relative : `./${relative}`
}

const packageFolderOf = (module) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0]

const licencesOf = (folders) =>
  folders
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
      if (file === undefined) throw new Failure(`${name} has no licence file.`, 'Do not bundle it, or add its licence.')
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    })
    .join('\n----\n\n')
