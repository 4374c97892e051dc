import { describe, expect, it } from 'vitest'
import type { ProblemCode } from '../../../src/model/problem.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { type Answer, answerOf, get } from '../../support/send-chat.ts'
import { deleteResponse, respond, streamResponse } from '../../support/send-responses.ts'
import { openSubscriber } from '../../support/subscriber.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

interface Requester {
  readonly key: string
}

/** Everything that is stored of a response, by the id that its client was given. */
interface Stored {
  readonly response: string
  readonly item: string
  readonly request: string
}

/** What the key of a request makes its sender: the account owner, another account, or no account. */
type ServerState = 'own' | 'foreign' | 'unauthorized'

const HOUR_MS = 3_600_000

describe('stored responses', () => {
  const server = useServer({ config: PLANS_CONFIG })

  const make = async (account: TestAccount): Promise<Stored> => {
    const { id, response, requestId } = await streamResponse(server(), account)
    return { response: id, item: response.output[0].id, request: requestId }
  }

  const sendTurn = async (who: Requester, path: string): Promise<Answer> => {
    const headers = who.key === '' ? {} : { authorization: `Bearer ${who.key}` }
    const answer = await fetch(`${server().baseUrl}${path}`, { headers })
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answerOf(answer)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, requestId: '', json: { text } }
  }

  /** How it is asked for, with the code for who may not see it, and what it is when it is shown. */
  interface Variant {
    readonly sendTurn: (who: Requester, stored: Stored) => Promise<Answer>
    readonly absent: ProblemCode
    readonly shown: (json: Answer['json'], stored: Stored) => unknown
  }
  const WAYS: Readonly<Record<string, Variant>> = {
    'the response': {
      sendTurn: (who, { response }) => sendTurn(who, `/responses/${response}`),
      absent: 'response_not_found',
      shown: (json, { response }) => json.id === response,
    },
    'its stream': {
      sendTurn: (who, { response }) => sendTurn(who, `/responses/${response}?stream=true`),
      absent: 'response_not_found',
      shown: ({ text }, { response }) => text.includes(response) && text.endsWith('[DONE]\n\n'),
    },
    'a response built on it': {
      sendTurn: (who, { response }) => respondAs(who, { previous_response_id: response }),
      absent: 'previous_response_not_found',
      shown: (json, { response }) => json.previous_response_id === response,
    },
    'a response with its item': {
      sendTurn: (who, { item }) =>
        respondAs(who, {
          input: [
            { type: 'item_reference', id: item },
            { role: 'user', content: 'And?' },
          ],
        }),
      absent: 'item_not_found',
      shown: (json) => json.object === 'response',
    },
    'its receipt': {
      sendTurn: (who, { request }) => sendTurn(who, `/requests/${request}`),
      absent: 'request_not_found',
      shown: (json, { request }) => json.id === request,
    },
    // The last, because what is shown is gone afterwards.
    'its end': {
      sendTurn: (who, { response }) => deleteResponse(server(), who, response),
      absent: 'response_not_found',
      shown: (json) => json.deleted,
    },
  }
  /** A builder key draws on a plan, which has another model. */
  const respondAs = (who: Requester, body: object) =>
    respond(server(), who, {
      model: who.key.startsWith('mr_builder') ? 'paid' : 'swift',
      max_output_tokens: 20,
      ...body,
    })

  it('are visible to active keys of their account only', async () => {
    const owner = await openSubscriber(server(), 'wide')
    const stranger = await openSubscriber(server(), 'wide')
    const expiring = await owner.createKey({
      expires: new Date(server().app.operations.clock.now() + HOUR_MS).toISOString(),
    })
    const disabled = await owner.createKey()
    await server().operate('keys.disable', { key: disabled.id })
    const revoked = await owner.createKey()
    await server().operate('keys.revoke', { key: revoked.id })
    const askers: Readonly<Record<string, readonly [Requester, ServerState]>> = {
      'its own key': [owner, 'own'],
      'another key of the account': [await owner.createKey(), 'own'],
      'a builder key of the account': [owner.builder, 'own'],
      'another account': [stranger, 'foreign'],
      'a builder key of another account': [stranger.builder, 'foreign'],
      'an expired key': [expiring, 'unauthorized'],
      'a disabled key': [disabled, 'unauthorized'],
      'a revoked key': [revoked, 'unauthorized'],
      'a key that was never created': [{ key: `${owner.key.slice(0, -4)}AAAA` }, 'unauthorized'],
      'no key': [{ key: '' }, 'unauthorized'],
    }
    // What it costs to make them is over before its key expires.
    const stored = new Map<string, Stored>()
    for (const name of Object.keys(askers)) stored.set(name, await make(owner))
    server().advance(2 * HOUR_MS)

    let cells = 0
    for (const [name, [who, accountStatus]] of Object.entries(askers)) {
      const theirs = stored.get(name)!
      for (const [thing, variant] of Object.entries(WAYS)) {
        cells += 1
        const answer = await variant.sendTurn(who, theirs)
        const cell = `${thing}, asked for by ${name}: ${JSON.stringify(answer.json)}`
        if (accountStatus === 'own') {
          expect(answer.status, cell).toBe(200)
          expect(variant.shown(answer.json, theirs), cell).toBe(true)
        } else if (accountStatus === 'foreign') {
          expect([cell, answer.json.error?.code]).toEqual([cell, variant.absent])
          expectProblem(answer, variant.absent)
        } else {
          expect(answer.status, cell).toBe(401)
          expect(['missing_api_key', 'invalid_api_key']).toContain(answer.json.error.code)
          expectProblem(answer, answer.json.error.code)
        }
        if (accountStatus !== 'own') expect(JSON.stringify(answer.json), cell).not.toMatch(/Good day|demo model/)
      }
      // A caller who may not see it has not deleted it either.
      const left = await get(server(), owner, `/responses/${theirs.response}`)
      expect(left.status, name).toBe(accountStatus === 'own' ? 404 : 200)
    }

    const guesses: Stored[] = [
      { response: `resp_${'0'.repeat(26)}`, item: `msg_${'0'.repeat(26)}`, request: `req_${'0'.repeat(26)}` },
      { response: 'resp_', item: '', request: 'req_' },
      { response: '%00', item: '\u0000', request: 'req_%00' },
      {
        response: `${stored.get('no key')!.response}x`,
        item: stored.get('no key')!.response,
        request: 'x'.repeat(2000),
      },
      { response: stored.get('no key')!.item, item: stored.get('no key')!.request, request: 'req_' },
    ]
    for (const guess of guesses) {
      for (const [thing, variant] of Object.entries(WAYS)) {
        cells += 1
        const answer = await variant.sendTurn(owner, guess)
        expect([thing, guess, answer.json.error?.code]).toEqual([thing, guess, variant.absent])
        expectProblem(answer, variant.absent)
      }
    }
    console.info(`who is shown what is stored: ${cells} cells`)
    expect(cells).toBe((Object.keys(askers).length + guesses.length) * Object.keys(WAYS).length)
  })

  it('do not reveal their existence to others', async () => {
    const owner = await openAccount(server())
    const stranger = await openAccount(server())
    const theirs = await make(owner)
    const guessed = {
      response: `resp_${'0'.repeat(26)}`,
      item: `msg_${'0'.repeat(26)}`,
      request: `req_${'0'.repeat(26)}`,
    }
    for (const [thing, variant] of Object.entries(WAYS)) {
      const [real, none] = [await variant.sendTurn(stranger, theirs), await variant.sendTurn(stranger, guessed)]
      const plain = ({ json }: Answer, stored: Stored) =>
        Object.values(stored).reduce((text, id) => text.replaceAll(id, 'ID'), json.error.message)
      expect([thing, plain(real, theirs), real.status]).toEqual([thing, plain(none, guessed), none.status])
    }
  })
})
