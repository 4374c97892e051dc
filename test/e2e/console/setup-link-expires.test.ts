import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inviteFirstPerson } from '../../../src/admin/invitations.ts'
import { openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

it('the setup link file is deleted once the first operator has signed up', async () => {
  const invited = await inviteFirstPerson(server().app.operations.people)
  const file = join(server().folder, 'console-setup')
  await writeFile(file, 'the link')
  const browser = openBrowser(server())
  const refused = await browser.send('POST /sign-up', { body: { code: invited!.code, password: PASSWORD } })
  expect([refused.error?.code, existsSync(file)]).toEqual(['email_missing', true])
  await browser.call('POST /sign-up', {
    body: { code: invited!.code, email: 'first@walk.example', password: PASSWORD },
  })
  expect(existsSync(file)).toBe(false)
  // Of no other sign-up it is the business.
  await writeFile(file, 'something else')
  await signUp(server(), { email: 'second@walk.example', role: 'operator' })
  expect(existsSync(file)).toBe(true)
})
