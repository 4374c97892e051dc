import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Failure } from './failure.mjs'
import { filesBelow } from './fingerprint.mjs'

/**
 * Packages of which each start loads many files: Node takes longer to find a small file than to compile it. Each becomes one file of
 * `dist` (figures: bench/RESULTS.md, 29 November 2026).
 */
export const BUNDLED = [
  ...['commander', 'hono', 'hono/router/trie-router', 'hono/utils/cookie', 'kysely', 'prom-client', 'yaml', 'zod'],
  ...['undici/lib/dispatcher/pool.js', 'undici/lib/core/connect.js'],
]
/** As the compiler writes them: each on one line. */
const IMPORTS = /^import \{([^}\n]*)\} from '([^'.][^']*)'/gm
/** Of CommonJS modules, whose `default` is what they export. */
const LATE_IMPORTS = /\bimport\('([^'.][^']*)'\)/g
const ENTRY = 'entry:'
/** Instead of zod's messages in forty languages, of which we use English. */
const NO_LANGUAGES = 'entry-without-languages'
const LICENCES = 'LICENSES.txt'
/** Below `dist`. */
const BUNDLES = 'packages'

const isCompiled = (path) => path.endsWith('.js') && !/^(?:console|docs|packages)\//.test(path)
const entryOf = (specifier) => specifier.replace(/\.js$/, '').replaceAll('/', '-')
const bundleOf = (specifier) => `${BUNDLES}/${entryOf(specifier)}.js`

/** Bundles the packages into `dist` with their licences, and lets the compiled files import the bundles. */
export async function bundlePackages(root) {
  const dist = join(root, 'dist')
  const compiled = filesBelow(dist).filter(isCompiled)
  const code = new Map(compiled.map((path) => [path, readFileSync(join(dist, path), 'utf8')]))
  const names = importedNames([...code.values()])
  if (names.size === 0) return
  const folder = join(dist, BUNDLES)
  const written = await bundle(root, names, folder)
  const packages = new Set(written.flatMap(({ moduleIds }) => moduleIds.map(packageFolderOf)).filter(Boolean))
  writeFileSync(join(folder, LICENCES), licencesOf([...packages].sort()))
  const kept = new Set([...written.map(({ fileName }) => fileName), LICENCES])
  for (const path of filesBelow(folder)) if (!kept.has(path)) rmSync(join(folder, path))
  for (const [path, text] of code) {
    const linked = linkBundles(text, path)
    if (linked !== text) writeFileSync(join(dist, path), linked)
  }
}

/** What the compiled files import from each bundled package. */
function importedNames(texts) {
  const names = new Map()
  const add = (specifier, imported) => {
    if (BUNDLED.includes(specifier)) names.set(specifier, new Set([...(names.get(specifier) ?? []), ...imported]))
  }
  for (const text of texts) {
    for (const [, imported, specifier] of text.matchAll(IMPORTS))
      add(
        specifier,
        imported.split(',').map((name) => name.split(' as ')[0].trim()),
      )
    for (const [, specifier] of text.matchAll(LATE_IMPORTS)) add(specifier, ['default'])
  }
  return names
}

async function bundle(root, names, folder) {
  // It comes with vite, and is there once the packages are installed.
  const { rolldown } = await import(pathToFileURL(join(root, 'node_modules/rolldown/dist/index.mjs')).href)
  const bundled = await rolldown({
    input: Object.fromEntries([...names.keys()].map((each) => [entryOf(each), `${ENTRY}${each}`])),
    cwd: root,
    platform: 'node',
    plugins: [
      {
        name: 'entries',
        resolveId(id, importer = '') {
          if (id.startsWith(ENTRY)) return id
          return id.endsWith('/locales/index.js') && importer.includes('/zod/') ? NO_LANGUAGES : undefined
        },
        load(id) {
          if (id === NO_LANGUAGES) return 'export {}'
          const specifier = id.slice(ENTRY.length)
          return id.startsWith(ENTRY)
            ? `export { ${[...names.get(specifier)].join(', ')} } from '${specifier}'`
            : undefined
        },
      },
    ],
    // Loaded where traces are sent.
    external: ['@opentelemetry/api'],
  })
  try {
    const { output } = await bundled.write({
      dir: folder,
      format: 'esm',
      chunkFileNames: 'shared-[hash].js',
      // The text of a module stays in memory. Names stay too, for stack traces.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    })
    return output
  } finally {
    await bundled.close()
  }
}

/** Imports of bundled packages become imports of their bundles. */
export function linkBundles(code, path) {
  const linked = (specifier) => `'${relativeTo(path, bundleOf(specifier))}'`
  return code
    .replace(IMPORTS, (whole, names, specifier) =>
      BUNDLED.includes(specifier) ? `import {${names}} from ${linked(specifier)}` : whole,
    )
    .replace(LATE_IMPORTS, (whole, specifier) => (BUNDLED.includes(specifier) ? `import(${linked(specifier)})` : whole))
}

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
