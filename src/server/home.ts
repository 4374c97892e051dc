import type { RequestContext } from './request-context.ts'
import { sendJson, sendJsonBytes } from './respond.ts'
import { PAGE_HEADERS } from './site-files.ts'

/**
 * `GET /` says what this is: a page for a browser, JSON for a program, which often is a client whose base URL lacks `/v1`. Both say
 * nothing that needs a key.
 */
export function serveHome(context: RequestContext): void {
  const { edge, request } = context
  const { version, publicUrl = '' } = edge.about
  const links = [
    ...(edge.console === undefined ? [] : [{ name: 'console', path: 'console', text: 'Console' }]),
    ...(edge.docs === undefined ? [] : [{ name: 'docs', path: 'docs/', text: 'Documentation' }]),
    { name: 'status', path: 'readyz', text: 'Status' },
  ]
  if (!String(request.headers.accept ?? '').includes('text/html')) {
    const addresses = Object.fromEntries(links.map(({ name, path }) => [name, `${publicUrl}/${path}`]))
    const about = { object: 'server', name: 'millrace', version, base_url: `${publicUrl}/v1` }
    sendJson(context, 200, { ...about, ...addresses }, HEADERS)
    return
  }
  // Relative links without a public URL: a proxy may serve this below a path that is not known here.
  const { pathPrefix } = edge.options
  const start = pathPrefix === undefined ? '' : `${pathPrefix}/`
  const items = links.map(({ path, text }) => `<li><a href="${start}${path}">${text}</a></li>`).join('\n')
  sendJsonBytes(context, 200, Buffer.from(page(version, items)), {
    ...PAGE_HEADERS,
    ...HEADERS,
    'content-type': 'text/html; charset=utf-8',
  })
}

const HEADERS = { vary: 'accept', 'cache-control': 'no-store' }

const page = (version: string, items: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Millrace</title>
<h1>Millrace ${version}</h1>
<p>A text inference gateway. Clients of the OpenAI API use it with a key and the address of this page followed by <code>v1</code>.</p>
<ul>
${items}
</ul>
</html>
`
