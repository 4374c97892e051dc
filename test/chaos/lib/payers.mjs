import { setTimeout as sleep } from 'node:timers/promises'

const PASSWORD = 'a password for payers'

async function operate({ url, secret, method = 'POST' }, path, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` }
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

/** An owner who is signed in to the console, and begins payments there. `secret` is that of an admin key. */
export async function openPayer({ url, secret, email, isSpender }) {
  const { id } = await operate({ url, secret }, '/accounts', { email })
  const { link } = await operate({ url, secret }, '/people/invitations', { role: 'owner', account: id, email })
  const code = new URL(link).searchParams.get('code')
  const session = { cookie: undefined, csrf: undefined }
  const call = async (path, body) => {
    const headers = {
      ...{ 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin: url },
      ...(session.cookie !== undefined && { cookie: session.cookie, 'x-csrf-token': session.csrf }),
    }
    const response = await fetch(`${url}/console/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const answer = await response.json()
    // A slow machine opens the payers for longer than a confirmation lasts.
    if (answer.error?.code === 'confirm_password') {
      await call('/session/confirm', { password: PASSWORD })
      return call(path, body)
    }
    // All payers come from one address.
    if (answer.error?.code === 'too_many_requests') {
      await sleep(1000 * answer.error.retry_after)
      return call(path, body)
    }
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    return { response, answer }
  }
  const { response, answer } = await call('/sign-up', { code, password: PASSWORD })
  session.cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  session.csrf = answer.csrf
  return {
    email,
    isSpender,
    account: id,
    /** Takes a share of what the wallet has, in whole dollars. */
    async spend({ url: now, share, ref }) {
      const at = `/accounts/${id}/wallet`
      const { available } = await operate({ url: now, secret, method: 'GET' }, at)
      const amount = Math.floor(Number(available) * share)
      if (amount > 0)
        await operate({ url: now, secret }, `${at}/refund`, { amount: String(amount), reason: 'spent', ref })
    },
    async startTopUp(cents) {
      const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
      const { answer: started } = await call('/card/top-up', { amount })
      return { payment: started.payment, session: started.url.split('/').at(-1) }
    },
  }
}
