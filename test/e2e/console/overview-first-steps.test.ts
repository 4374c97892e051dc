import { expect, it } from 'vitest'
import { signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

it('a model is suggested until the first request', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'new@overview.example', role: 'owner', account: account.id })
  const { suggested_model: model } = await owner.call('GET /overview', {})
  const offered = (await owner.call('GET /models', {})).items.filter(
    ({ available, price }) => available && price !== null,
  )
  expect(model).toBe(offered[0]?.id)
  await chat(server(), account, { model, messages: [{ role: 'user', content: 'Hello!' }] })
  expect(await owner.call('GET /overview', {})).toMatchObject({ suggested_model: null, recent: [{ model }] })
})
