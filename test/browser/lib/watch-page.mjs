const POLICY_BREACH = 'policyBreach'
const SERVER_FAULT = 500

/**
 * Whatever a page should never do, as lines in `complaints`: break its own content policy, throw, write an error, ask anybody
 * but its own server, or get a fault of it. A refusal with 4xx is an answer, so what the browser writes about it is none of those.
 */
export async function watchPages(context, origin) {
  const complaints = []
  const isOurs = (url) => url.startsWith(`${origin}/`) || url.startsWith('data:') || url.startsWith(`blob:${origin}/`)
  await context.exposeBinding(POLICY_BREACH, (_, said) => complaints.push(`breaks the content policy: ${said}`))
  await context.addInitScript((name) => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      globalThis[name](`${violatedDirective} ${blockedURI}`)
    })
  }, POLICY_BREACH)
  context.on('weberror', (error) => complaints.push(`throws: ${error.error().message}`))
  context.on('console', (message) => {
    const text = message.text()
    const isRefusal = /^Failed to load resource: .* status of 4\d\d/.test(text)
    if (message.type() === 'error' && !isRefusal) complaints.push(`writes an error: ${text}`)
  })
  context.on('request', (request) => {
    if (!isOurs(request.url())) complaints.push(`asks ${request.url()}`)
  })
  context.on('response', (response) => {
    if (response.status() >= SERVER_FAULT) complaints.push(`got ${response.status()} from ${response.url()}`)
  })
  return complaints
}
