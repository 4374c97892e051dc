import { problem } from '../model/problem.ts'
import { refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { sendProblem, writeHead } from './respond.ts'
import { PAGE_HEADERS, sendFile } from './site-files.ts'

/** The documentation of this version: pages, their search, and images. */
export async function serveDocs(context: RequestContext, path: string): Promise<void> {
  const { request, response, edge } = context
  if (edge.docs === undefined) return sendProblem(context, refuseUnknownPath(request.method ?? 'GET', context.path, []))
  context.ownHeaders = PAGE_HEADERS
  // The links of the pages are relative. `context.path` has no slash at its end.
  if (/^[^?]*\/docs(?:\?|$)/.test(request.url ?? '')) {
    writeHead(context, 308, { location: 'docs/', 'content-length': '0' })
    response.end()
    return
  }
  const files = await edge.docs()
  // Addresses of pages have no ending.
  const file = path === '' ? files.page : (files.find(path) ?? files.find(`${path}.html`))
  if (file !== undefined) return sendFile(context, file)
  const message =
    files.page === undefined
      ? 'The documentation has not been built. In a clone, run: npm run build'
      : 'The documentation has no such page. Its first page is /docs/.'
  sendProblem(context, problem('endpoint_not_provided', message))
}
