import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pageMessages } from './page-messages.mjs'

/** Keeps the first load usable on a slow mobile connection. */
export const FIRST_LOAD_MAX = 198_000

const PAGE = 'index.html'
const LANGUAGES = ['en', 'de']

/** Bytes of JavaScript (gzip) that the largest page needs for its first load. */
export const firstLoad = (built, routes) => pagesBySize(built, routes)[0]?.bytes ?? 0

/** What index.html loads, the page and its messages, each with its imports, in the larger language. */
export function pagesBySize(built, routes) {
  const manifest = JSON.parse(readFileSync(join(built, '.vite', 'manifest.json'), 'utf8'))
  const html = readFileSync(join(built, PAGE), 'utf8')
  const entry = Object.keys(manifest).filter((name) => html.includes(`/${manifest[name].file}"`))
  if (entry.length === 0) throw new Error(`${PAGE} loads nothing of the build`)
  const messagesOf = (language, bundles) => [
    `messages/${language}.ts`,
    ...bundles.map((bundle) => `messages/${language}/${bundle}.ts`),
  ]
  const bytesOf = (page, bundles) =>
    LANGUAGES.map((language) => sizeOf(built, filesOf(manifest, [...entry, page, ...messagesOf(language, bundles)])))
  return pageMessages(routes)
    .map(({ page, bundles }) => ({ page, bytes: Math.max(...bytesOf(page, bundles)) }))
    .sort((one, other) => other.bytes - one.bytes)
}

export function filesOf(manifest, roots) {
  const files = new Set()
  const visit = (name) => {
    const chunk = manifest[name]
    if (chunk === undefined) throw new Error(`the build has no ${name}`)
    if (files.has(chunk.file)) return
    files.add(chunk.file)
    for (const imported of chunk.imports ?? []) visit(imported)
  }
  for (const root of roots) visit(root)
  return [...files].filter((file) => file.endsWith('.js'))
}

const sizeOf = (built, files) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(join(built, file)), { level: 9 }).length, 0)
