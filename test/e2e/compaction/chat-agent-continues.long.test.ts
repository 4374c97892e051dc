import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { answerToHowMuch, HOW_MUCH, QUESTION, TASK } from '../../fakes/scripted-model-state.ts'
import { chat } from '../../support/send-chat.ts'
import { CHAT_TOOLS, resultOf } from './agent-tools.ts'
import { createBill, expectExactCharges } from './bill.ts'
import { createFacts } from './facts.ts'
import { seedOfRun } from './runs.ts'
import { openEveryMill, type ScriptedModelSetup } from './scripted-model-server.ts'

const TURNS = 80
const FACTS_AT = [3, 30]
const RELOAD_EVERY = 7
const TIMEOUT_MS = 120_000

let setup: ScriptedModelSetup
beforeAll(async () => {
  setup = await openEveryMill()
}, TIMEOUT_MS)
afterAll(() => setup?.close())

const allAreWell = () => {
  for (const mill of Object.values(setup.mills)) mill.is('well')
}

const user = (content: string): Fields => ({ role: 'user', content })

it(
  'a Chat agent keeps its facts while its lanes change',
  async () => {
    const random = seedOfRun()
    const bill = createBill(setup)
    const facts = createFacts(random)
    const messages: Fields[] = []
    let done = 0
    let turn = 0

    /** The words of the answer; the results of what it calls are among the messages then. */
    async function sendTurn(...words: readonly string[]): Promise<string> {
      messages.push(...facts.toEmit().map(user), ...words.map(user))
      const model = ['mill', 'mill-high'][random(2)]
      const { status, json, requestId } = await chat(setup.server, setup.server, { model, messages, tools: CHAT_TOOLS })
      expect(status, JSON.stringify(json)).toBe(200)
      bill.add(requestId, json.usage)
      const { message } = json.choices[0]
      const calls: readonly Fields[] = message.tool_calls ?? []
      messages.push(message)
      for (const { id } of calls) {
        messages.push({ role: 'tool', tool_call_id: id, content: resultOf(turn, facts.toRead().join('\n')) })
      }
      done += calls.length
      return message.content ?? ''
    }

    const happens: Readonly<Record<number, () => Promise<void> | void>> = {
      10: () => setup.first.is('gone'),
      16: allAreWell,
      26: () => setup.die(),
      38: () => setup.first.is('busy'),
      44: allAreWell,
      55: () => setup.die(),
    }
    for (turn = 1; turn <= TURNS; turn++) {
      if (turn % RELOAD_EVERY === 0)
        await setup.change({ lanes: [...setup.rules.lanes.slice(1), setup.rules.lanes[0]!] })
      if (FACTS_AT.includes(turn)) facts.place(turn)
      await happens[turn]?.()
      await sendTurn(...(messages.at(-1)?.role === 'tool' ? [] : [TASK(`t${turn}`, 2 + random(6))]))
    }
    for (const { about, answer } of facts.known()) expect(await sendTurn(QUESTION(about))).toBe(answer)
    expect(await sendTurn(HOW_MUCH)).toBe(answerToHowMuch(done))

    const total = await expectExactCharges(setup, bill, 0)
    console.log(
      `${bill.charges.size} requests, ${bill.changes} changes of the lane, ${bill.sealsBack} seals back, ${total} nano-dollars`,
    )
    expect(facts.known()).toHaveLength(2 * FACTS_AT.length)
    expect(bill.changes).toBeGreaterThan(TURNS / RELOAD_EVERY / 2)
  },
  TIMEOUT_MS,
)
