import { signUp } from './console-session.mjs'

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
  const call = await signUp(() => url, { link, password: PASSWORD })
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
      const started = await call('POST', '/card/top-up', { amount })
      return { payment: started.payment, session: started.url.split('/').at(-1) }
    },
  }
}
