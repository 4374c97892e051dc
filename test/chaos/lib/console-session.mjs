import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Signs a person up by the link of an invitation. Returns how to call the console's routes as their browser does; a file is its text. A
 * refusal is thrown. `baseUrl` is that of a server, of several the one to ask now.
 */
export async function signUp(baseUrl, { link, password }) {
  const session = { cookies: new Map(), csrf: undefined }
  const call = async (method, path, body) => {
    const response = await send(baseUrl(), session, { method, path, body })
    const isJson = response.headers.get('content-type') === 'application/json'
    const answer = isJson ? await response.json() : await response.text()
    // A slow machine takes longer than a confirmation lasts.
    if (answer.error?.code === 'confirm_password') {
      await call('POST', '/session/confirm', { password })
      return call(method, path, body)
    }
    // All people come from one address.
    if (answer.error?.code === 'too_many_requests') {
      await sleep(1000 * answer.error.retry_after)
      return call(method, path, body)
    }
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    for (const line of response.headers.getSetCookie()) {
      const [cookie] = line.split(';')
      session.cookies.set(cookie.split('=')[0], cookie)
    }
    if (answer.csrf) session.csrf = answer.csrf
    return answer
  }
  await call('POST', '/sign-up', { code: new URL(link).searchParams.get('code'), password })
  return call
}

function send(url, session, { method, path, body }) {
  const ofPage = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin: url }
  const headers = {
    ...(method === 'GET' ? {} : ofPage),
    ...(session.csrf !== undefined && {
      cookie: [...session.cookies.values()].join('; '),
      'x-csrf-token': session.csrf,
    }),
  }
  return fetch(`${url}/console/api${path}`, { method, headers, body: JSON.stringify(body) })
}
