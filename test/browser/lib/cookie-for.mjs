/** Converts a cookie header for a browser context. */
export function cookieFor(origin, sent) {
  const at = sent.indexOf('=')
  return { name: sent.slice(0, at), value: sent.slice(at + 1), url: origin }
}
