import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { problem } from '../model/problem.ts'
import { refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { endAnswer, sendProblem, writeHead } from './respond.ts'
import type { SiteFile, SiteFiles } from './services.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

const PAGE = 'index.html'

/**
 * The files of the console or the documentation, in memory. A missing folder means that it is not built. `adaptPage` may change the page,
 * which then is not compressed.
 */
export async function loadSiteFiles(
  folder: string,
  adaptPage: (html: string) => string = (html) => html,
): Promise<SiteFiles> {
  const names = await listFiles(folder)
  const files = new Map<string, SiteFile>()
  for (const name of names) {
    const type = TYPES[extname(name)]
    if (type !== undefined) files.set(name, await loadFile(folder, name, { type, names }))
  }
  const page = files.get(PAGE)
  const html = page?.plain.toString() ?? ''
  const adapted = adaptPage(html)
  if (page !== undefined && adapted !== html) files.set(PAGE, { ...page, ...plainFile(Buffer.from(adapted)) })
  return { find: (path) => files.get(path), page: files.get(PAGE) }
}

async function listFiles(folder: string): Promise<ReadonlySet<string>> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    return new Set(files.map((file) => join(file.parentPath, file.name).slice(folder.length + 1)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
    throw error
  }
}

async function loadFile(
  folder: string,
  name: string,
  { type, names }: { readonly type: string; readonly names: ReadonlySet<string> },
): Promise<SiteFile> {
  const packed = (ending: string) => (names.has(name + ending) ? readFile(join(folder, name + ending)) : undefined)
  const plain = await readFile(join(folder, name))
  return {
    type,
    isImmutable: name.startsWith('assets/'),
    ...plainFile(plain),
    br: await packed('.br'),
    gzip: await packed('.gz'),
  }
}

const plainFile = (plain: Buffer) => ({
  digest: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
  plain,
  br: undefined,
  gzip: undefined,
})

/** Sends a file in the best encoding that the browser accepts. */
export function sendFile(context: RequestContext, file: SiteFile): void {
  const { request, response } = context
  const { bytes, encoding } = encode(file, String(request.headers['accept-encoding'] ?? ''))
  const etag = encoding === undefined ? `"${file.digest}"` : `"${file.digest}-${encoding}"`
  const headers = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  }
  if (isCached(request.headers['if-none-match'], etag)) {
    writeHead(context, 304, headers)
    response.end()
    return
  }
  writeHead(context, 200, {
    ...headers,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    'content-type': file.type,
    'content-length': String(bytes.length),
  })
  endAnswer(context, request.method === 'HEAD' ? '' : bytes)
}

/** A proxy on the way may have marked the ETag as weak. */
const isCached = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) ?? false

function encode({ plain, br, gzip }: SiteFile, accepted: string) {
  if (br !== undefined && accepts(accepted, 'br')) return { bytes: br, encoding: 'br' }
  if (gzip !== undefined && accepts(accepted, 'gzip')) return { bytes: gzip, encoding: 'gzip' }
  return { bytes: plain, encoding: undefined }
}

/** `br;q=0` means that it is not accepted. */
const accepts = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
  })

/** No foreign sources, no inline code, no frames. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of everything below `/console` and `/docs`. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
}

/** Answers of the API must not be cached. */
export const API_HEADERS: Readonly<Record<string, string>> = { ...PAGE_HEADERS, 'cache-control': 'no-store' }

/** The documentation of this version: pages, their search, and images. */
export async function serveDocs(context: RequestContext, path: string): Promise<void> {
  const { request, edge } = context
  if (edge.docs === undefined) return sendProblem(context, refuseUnknownPath(request.method ?? 'GET', context.path, []))
  context.ownHeaders = PAGE_HEADERS
  // The links of the pages are relative. `context.path` has no slash at its end.
  const [asked = ''] = (request.url ?? '').split('?', 1)
  if (asked.endsWith('/docs')) return redirect(context, 'docs/')
  const files = await edge.docs()
  // Addresses of pages have no ending.
  const file = path === '' ? files.page : (files.find(path) ?? files.find(`${path}.html`))
  if (file !== undefined) {
    const isPageAsFolder = path !== '' && asked.endsWith('/')
    return isPageAsFolder ? redirect(context, `../${path.slice(path.lastIndexOf('/') + 1)}`) : sendFile(context, file)
  }
  const message =
    files.page === undefined
      ? 'The documentation has not been built. In a clone, run: npm run build'
      : 'The documentation has no such page. Its first page is /docs/.'
  sendProblem(context, problem('endpoint_not_provided', message))
}

function redirect(context: RequestContext, location: string): void {
  writeHead(context, 308, { location, 'content-length': '0' })
  context.response.end()
}
