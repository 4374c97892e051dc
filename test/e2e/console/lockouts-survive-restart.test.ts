import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'

it('used-up sign-in attempts stay used up after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-lockout-'))
  const email = 'guessed@restart.example'
  const unknown = 'a password in the wrong field'
  let server = await startServer({ folder, clock: 'still' })
  const signIn = (name: string, password = PASSWORD) =>
    openBrowser(server).send('POST /session', { body: { email: name, password } })
  try {
    const account = await openAccount(server)
    await signUp(server, { email, account: account.id })
    for (const name of [email, unknown]) {
      for (let count = 0; count < 6; count++) await signIn(name, 'a wrong password')
    }
    await server.close()
    server = await startServer({ folder, clock: 'still' })
    for (const name of [email, unknown]) {
      const reported = await signIn(name)
      expect([reported.status, reported.error?.code]).toEqual([429, 'too_many_tries'])
    }
    const trail = await server.operate('db.verify', {})
    expect(trail.ok).toBe(true)
    server.advance(3 * 60_000)
    expect((await signIn(email)).status).toBe(200)
    await server.close()
    server = await startServer({ folder, clock: 'still' })
    expect((await signIn(email)).status).toBe(200)
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
})
