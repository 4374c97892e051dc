import { describe, expect, it } from 'vitest'
import { eraseConversationsOfLeavers } from '../../../src/admin/playground.ts'
import { CONVERSATIONS_MAX } from '../../../src/contract/owner.ts'
import { createConversations } from '../../../src/db/content/conversations.ts'
import { type ConsolePerson, openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()
let people = 0

async function owner() {
  const account = await openAccount(server())
  people += 1
  return { account, person: await signUp(server(), { email: `saver${people}@example.com`, account: account.id }) }
}

const SAVED = { title: 'Mills — „Mühlen“', content: JSON.stringify({ said: 'a secret about mills \u{1F600}' }) }

const save = (person: ConsolePerson, more: Partial<typeof SAVED> = {}) => {
  server().advance(1000)
  return person.call('POST /conversations', { body: { ...SAVED, ...more } })
}

const titlesOf = async (person: ConsolePerson) =>
  (await person.call('GET /conversations')).items.map(({ title }) => title)

const content = () => server().app.operations.files.content
const storedOf = (id: string) =>
  content().all<{ title: Uint8Array; sealed: Uint8Array }>('SELECT title, sealed FROM conversations WHERE id = ?', [id])

const erase = () => {
  const conversations = createConversations({
    ...{
      file: content(),
      sealingKeys: [{ id: 'unused', secret: Buffer.alloc(32) }],
      isShared: true,
      now: () => 0,
      keeps: true,
    },
  })
  return eraseConversationsOfLeavers({ db: server().app.operations.db, conversations })
}

describe('saved conversations', () => {
  it('are read back in another session, newest first, and sealed where they lie', async () => {
    const { person } = await owner()
    const { id } = await save(person)
    await save(person, { title: 'Second' })
    const again = openBrowser(server(), person.email)
    await again.call('POST /session', { body: { email: person.email, password: PASSWORD } })
    expect(await titlesOf(again)).toEqual(['Second', SAVED.title])
    const conversation = { params: { conversation: id } }
    expect(await again.call('GET /conversations/:conversation', conversation)).toMatchObject({ id, ...SAVED })
    const [row] = await storedOf(id)
    for (const bytes of [row!.title, row!.sealed]) expect(Buffer.from(bytes).toString()).not.toMatch(/mill|Mill/)

    const changed = { title: 'Changed', content: '{"said":"more"}' }
    server().advance(1000)
    await again.call('PUT /conversations/:conversation', { ...conversation, body: changed })
    expect(await again.call('GET /conversations/:conversation', conversation)).toMatchObject(changed)
    expect(await titlesOf(again)).toEqual(['Changed', 'Second'])
    await again.call('DELETE /conversations/:conversation', conversation)
    expect(await titlesOf(again)).toEqual(['Second'])
    for (const name of ['GET', 'DELETE'] as const) {
      const { status, error } = await again.send(`${name} /conversations/:conversation`, conversation)
      expect([status, error?.code]).toEqual([404, 'conversation_not_found'])
    }
    expect((await again.send('PUT /conversations/:conversation', { ...conversation, body: changed })).error?.code).toBe(
      'conversation_not_found',
    )
  })

  it('are private: not even the owner of the account reads those of a member', async () => {
    const { account, person } = await owner()
    const member = await signUp(server(), { email: `member-of-${person.email}`, role: 'member', account: account.id })
    const { id } = await save(member)
    expect(await titlesOf(person)).toEqual([])
    const read = await person.send('GET /conversations/:conversation', { params: { conversation: id } })
    expect([read.status, read.error?.code]).toEqual([404, 'conversation_not_found'])
    await person.send('DELETE /conversations/:conversation', { params: { conversation: id } })
    expect(await titlesOf(member)).toEqual([SAVED.title])
  })

  it('have a bound in number and in size', async () => {
    const { person } = await owner()
    for (let made = 0; made < CONVERSATIONS_MAX; made++) await save(person)
    server().advance(1000)
    const refused = await person.send('POST /conversations', { body: SAVED })
    expect([refused.status, refused.error?.code]).toEqual([409, 'conversations_full'])
    const [{ id } = { id: '' }] = (await person.call('GET /conversations')).items
    const large = { title: 'Large', content: JSON.stringify('x"'.repeat(1_000_000)) }
    await person.call('PUT /conversations/:conversation', { params: { conversation: id }, body: large })
    expect((await person.call('GET /conversations/:conversation', { params: { conversation: id } })).content).toBe(
      large.content,
    )
    const tooLarge = { title: 'Large', content: 'x'.repeat(4_000_001) }
    const { error } = await person.send('POST /conversations', { body: tooLarge })
    expect([error?.code, error?.param]).toEqual(['invalid_arguments', 'content'])
  })

  it('have the same bound when many are saved at the same moment', async () => {
    const { person } = await owner()
    const saves = Array.from({ length: CONVERSATIONS_MAX + 10 }, () =>
      person.send('POST /conversations', { body: SAVED }),
    )
    const codes = (await Promise.all(saves)).map(({ status, error }) => error?.code ?? status)
    expect(codes.filter((code) => code === 'conversations_full')).toHaveLength(10)
    expect(await titlesOf(person)).toHaveLength(CONVERSATIONS_MAX)
  })

  it('of one person take half of the memory for those that arrive, so that others can save theirs', async () => {
    const [{ person }, { person: other }] = [await owner(), await owner()]
    const sockets = await Promise.all(Array.from({ length: 8 }, () => openRawSocket(server())))
    const bytes = 7_000_000
    for (const socket of sockets) {
      socket.write(
        `POST /console/api/conversations HTTP/1.1\r\nhost: 127.0.0.1:${server().port}\r\nsec-fetch-site: same-origin\r\n` +
          `origin: http://127.0.0.1:${server().port}\r\ncookie: ${person.cookie}\r\nx-csrf-token: ${person.csrf}\r\n` +
          `content-type: application/json\r\ncontent-length: ${bytes + 1}\r\n\r\n${' '.repeat(bytes)}`,
      )
    }
    await until(() => sockets.filter(({ received }) => received.includes('server_is_overloaded')).length >= 3)
    expect(await save(other)).toMatchObject({ title: SAVED.title })
    for (const socket of sockets) socket.destroy()
    await until(async () => (await person.send('POST /conversations', { body: SAVED })).status === 200)
  })

  it('live as long as the key of their account, which a deleted response does not take along', async () => {
    const { account, person } = await owner()
    const { id } = await save(person)
    const { json } = await respond(server(), account, { model: 'swift', input: 'remember', store: true })
    await fetch(`${server().baseUrl}/responses/${json.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${account.key}` },
    })
    await content().atomic([{ sql: 'DELETE FROM responses WHERE children = 0', rows: [[]] }])
    expect(await person.call('GET /conversations/:conversation', { params: { conversation: id } })).toMatchObject(SAVED)
    const keysOf = () =>
      content().all('SELECT name FROM account_keys k JOIN owners o ON o.owner = k.account WHERE o.id = ?', [account.id])
    expect(await keysOf()).toHaveLength(1)
    await person.call('DELETE /conversations/:conversation', { params: { conversation: id } })
    expect(await keysOf()).toHaveLength(0)
    // A new key is made for the next one.
    const next = await save(person)
    expect(await person.call('GET /conversations/:conversation', { params: { conversation: next.id } })).toMatchObject(
      SAVED,
    )
  })

  it('are erased with their person, and those of others stay', async () => {
    const { account, person } = await owner()
    const member = await signUp(server(), { email: `leaver-of-${person.email}`, role: 'member', account: account.id })
    const [{ id: theirs }, { id: mine }] = [await save(member), await save(person)]
    await erase()
    expect(await storedOf(theirs)).toHaveLength(1)
    const { person: view } = await member.call('GET /session')
    await person.call('POST /members/:person/remove', { params: { person: view!.id } })
    await erase()
    expect(await storedOf(theirs)).toHaveLength(0)
    expect(await storedOf(mine)).toHaveLength(1)
  })
})
