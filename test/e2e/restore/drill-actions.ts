import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { get, hello } from '../../support/send-chat.ts'
import { respond, streamResponse } from '../../support/send-responses.ts'
import type { TestAccount } from '../../support/test-account.ts'
import { sendTurn } from '../idempotency/keyed.ts'
import { type DataFile, type DrillWorld, FILES } from './drill-world.ts'

export type Count = (what: string, by?: number) => void
export type Random = (below: number) => number

/** One of a list; there is one. */
const pick = <Item>(random: Random, list: readonly Item[]): Item => list[random(list.length)]!

/** Those whom the ledger of now knows. */
export const livingOf = ({ people, holdings }: DrillWorld): TestAccount[] =>
  people.filter(({ id }) => holdings.accounts.has(id))

export async function storeResponse(world: DrillWorld, random: Random, count: Count): Promise<void> {
  const server = await world.start()
  const owner = pick(random, livingOf(world))
  const before = world.kept.filter((kept) => kept.owner === owner && canServe(world, kept.requestId) && kept.response)
  const previous = before.length > 0 && random(2) === 0 ? pick(random, before).response!.id : undefined
  const body = { input: `a word of ${owner.id}`, ...(previous && { previous_response_id: previous }) }
  const isStream = random(2) === 0
  const { id, item, requestId } = isStream ? await streamed() : await whole()
  world.kept.push({ owner, requestId, response: { id, item } })
  world.note({ ledger: requestId, content: requestId })
  count(previous === undefined ? 'responses stored' : 'conversations gone on with')

  async function streamed() {
    const { id, response, requestId } = await streamResponse(server, owner, body)
    return { id, item: String(response.output[0].id), requestId }
  }
  async function whole() {
    const { status, json, requestId } = await respond(server, owner, body)
    expect(status, JSON.stringify(json)).toBe(200)
    return { id: String(json.id), item: String(json.output[0].id), requestId }
  }
}

let keys = 0

export async function keepAnswer(world: DrillWorld, random: Random, count: Count): Promise<void> {
  const server = await world.start()
  const owner = pick(random, livingOf(world))
  keys += 1
  // Half of the keys and bodies are alike for everybody: they must be told apart by whose they are.
  const idempotencyKey = random(2) === 0 ? `key-${keys}` : 'the-same-for-all'
  const body = { model: 'swift', messages: hello(idempotencyKey.startsWith('key') ? `of ${owner.id}` : 'alike') }
  const answer = await sendTurn(server, { key: owner.key, idempotencyKey }, body)
  const isAgain = answer.headers.get('idempotency-replayed') === 'true'
  if (isAgain) return void expectOwn(world, owner, answer.headers.get('x-original-request-id'))
  // One that was charged and whose answer is gone is refused in words, never run again.
  if (answer.status === 409) return count('lost answers that were refused in words')
  expect(answer.status, answer.text).toBe(200)
  world.kept.push({ owner, requestId: answer.requestId, repeat: { idempotencyKey, body, text: answer.text } })
  world.note({ ledger: answer.requestId, content: answer.requestId })
  count('answers kept')
}

function expectOwn(world: DrillWorld, owner: TestAccount, requestId: string | null): void {
  expect(world.kept.find((kept) => kept.requestId === requestId)?.owner.id).toBe(owner.id)
}

export async function backUp(world: DrillWorld, random: Random, count: Count): Promise<void> {
  await world.stop()
  // content.db may be left out of a backup.
  const files = FILES.filter((name) => name !== 'content.db' || random(2) === 0)
  await world.copy(world.folder, world.backup, files)
  world.backedUp = { ...world.holdings, files }
  count(files.includes('content.db') ? 'backups with content.db' : 'backups without content.db')
}

export async function restore(world: DrillWorld, random: Random, count: Count): Promise<void> {
  const { backedUp } = world
  if (backedUp === undefined) return
  await world.stop()
  const withContent = backedUp.files.includes('content.db') && random(2) === 0
  const files = backedUp.files.filter((name) => name !== 'content.db' || withContent)
  await world.copy(world.backup, world.folder, files)
  const { ledger, accounts } = backedUp
  world.holdings = { ledger, accounts, content: withContent ? backedUp.content : world.holdings.content }
  count(withContent ? 'restores with content.db' : 'restores that leave content.db')
  await startAndJudge(world, count)
}

/** As after `kill -9`: the files as they lie there while the server runs. */
export async function crash(world: DrillWorld, count: Count): Promise<void> {
  await world.start()
  const image = `${world.folder}-image`
  await mkdir(image)
  for (const name of FILES) {
    await cp(join(world.folder, name), join(image, name))
    await cp(join(world.folder, `${name}-wal`), join(image, `${name}-wal`)).catch(() => {})
  }
  await world.stop()
  await world.copy(image, world.folder, FILES)
  await rm(image, { recursive: true })
  count('crashes')
  await startAndJudge(world, count)
}

export async function loseOne(world: DrillWorld, random: Random, count: Count): Promise<void> {
  await world.stop()
  const lost = pick(random, FILES)
  const spare = `${world.folder}-spare`
  await mkdir(spare)
  await world.copy(world.folder, spare, [lost])
  await rm(join(world.folder, lost))
  count(`losses of ${lost}`)
  if (lost === 'ledger.db' || lost === 'keyring.json') {
    await expect(world.start(), `without ${lost} nothing is begun`).rejects.toThrow(new RegExp(`${lost}.* is missing`))
    count('starts refused with the cure')
    await world.copy(spare, world.folder, [lost])
  } else if (lost === 'content.db') world.holdings = { ...world.holdings, content: new Set() }
  await rm(spare, { recursive: true })
  await startAndJudge(world, count, lost)
}

/** Whether content.db and the ledger both have it. */
export const canServe = ({ holdings }: DrillWorld, requestId: string): boolean =>
  holdings.content.has(requestId) && holdings.ledger.has(requestId)

/** Starts, and says what must have been said: nothing is set aside for no reason, and nothing that is foreign stays. */
export async function startAndJudge(world: DrillWorld, count: Count, lost?: DataFile): Promise<void> {
  const { app } = await world.start()
  const { content, ledger } = world.holdings
  const isAhead = [...content].some((requestId) => !ledger.has(requestId))
  const notices = app.notices.filter((notice) => !notice.startsWith('Set aside earlier')).join('\n')
  if (isAhead) {
    expect(notices).toMatch(
      /content\.db knows of requests that ledger\.db does not have.*set aside as content\.db\.set-aside-ahead/,
    )
    world.holdings = { ...world.holdings, content: new Set() }
    count('content.db set aside and said')
  } else if (lost === 'content.db' && ledger.size > 0) {
    expect(notices).toContain('content.db was missing and was created again')
  } else if (lost === 'settles.journal' && ledger.size > 0) {
    expect(notices).toContain('settles.journal was missing and was created again')
  } else {
    // A content.db that was set aside earlier is not there any more, and so is none that can be ahead.
    expect(notices.replace(/content\.db (was missing|knows of requests).*\n?/, '')).toBe('')
  }
  if (/content\.db (was missing|knows of requests)/.test(notices))
    world.holdings = { ...world.holdings, content: new Set() }
}

/** Everybody asks for everything that anybody ever had. */
export async function probe(world: DrillWorld, random: Random, count: Count): Promise<void> {
  const server = await world.start()
  for (const requester of livingOf(world)) {
    for (const { owner, requestId, response, repeat } of world.kept) {
      if (response !== undefined) {
        const { status } = await get(server, requester, `/responses/${response.id}`)
        if (owner.id === requester.id) expect(status, 'of one’s own').toBe(canServe(world, requestId) ? 200 : 404)
        else expect(status, 'of another account').toBe(404)
        count(owner.id === requester.id ? 'own reads' : 'cross-reads tried')
      }
      if (owner.id === requester.id || random(4) > 0) continue
      if (response !== undefined) {
        const { id, item } = response
        const goingOn = await respond(server, requester, { previous_response_id: id, store: false })
        expect(goingOn.json.error?.code).toBe('previous_response_not_found')
        const reference = { input: [{ type: 'item_reference', id: item }], store: false }
        expect((await respond(server, requester, reference)).json.error?.code).toBe('item_not_found')
        count('cross-reads tried', 2)
      }
      if (repeat !== undefined) await repeatAs(world, requester, repeat, count)
    }
  }
}

/** Sends the idempotency key and the body of another account: the answer belongs to the requester, or is new. */
async function repeatAs(
  world: DrillWorld,
  requester: TestAccount,
  { idempotencyKey, body }: { readonly idempotencyKey: string; readonly body: object },
  count: Count,
): Promise<void> {
  const answer = await sendTurn(await world.start(), { key: requester.key, idempotencyKey }, body)
  count('cross-repeats tried')
  if (answer.headers.get('idempotency-replayed') === 'true') {
    return expectOwn(world, requester, answer.headers.get('x-original-request-id'))
  }
  if (answer.status !== 200) {
    expect([409, 422], answer.text).toContain(answer.status)
    return
  }
  world.kept.push({
    owner: requester,
    requestId: answer.requestId,
    repeat: { idempotencyKey, body, text: answer.text },
  })
  world.note({ ledger: answer.requestId, content: answer.requestId })
}

/** Each account's usage is what its own receipts come to. */
export async function judgeUsage(world: DrillWorld, count: Count): Promise<void> {
  const server = await world.start()
  for (const { id } of livingOf(world)) {
    const receiptCount = (await receiptsOf(world, id)).length
    if (receiptCount === 0) continue
    await expect
      .poll(async () => usageOf(server.content, id), { timeout: 20_000, message: `usage of ${id}` })
      .toBe(receiptCount)
    count('usage totals compared')
  }
}

const receiptsOf = async (world: DrillWorld, account: string) =>
  (await world.start()).app.operations.db
    .selectFrom('receipts')
    .innerJoin('accounts', 'accounts.row', 'receipts.account')
    .select('receipts.row')
    .where('accounts.id', '=', account)
    .where('receipts.state', '<>', 'open')
    .execute()

async function usageOf(content: { all: DrillContent }, account: string): Promise<unknown> {
  const [row] = await content.all(
    `SELECT requests FROM usage JOIN usage_series USING (series) JOIN owners ON owners.owner = usage_series.account
      WHERE owners.id = ? AND level = 'all' ORDER BY quarter DESC LIMIT 1`,
    [account],
  )
  return row?.requests ?? 0
}

type DrillContent = (sql: string, parameters: readonly string[]) => Promise<Record<string, unknown>[]>
