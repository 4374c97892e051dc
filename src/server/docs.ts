import { problem } from '../model/problem.ts'
import { refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { sendProblem, writeHead } from './respond.ts'
import { PAGE_HEADERS, sendFile } from './site-files.ts'

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
