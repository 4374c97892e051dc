import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('other people’s requests', () => {
  const server = useServer()

  it('are visible to their owner and the operator only', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => openAccount(server())))
    const ids = await Promise.all(people.map(async (person) => (await chat(server(), person)).requestId))
    for (const [owner, id] of ids.entries()) {
      for (const [requester, person] of people.entries()) {
        const answer = await get(server(), person, `/requests/${id}`)
        if (requester === owner) expect(answer.json).toMatchObject({ id, state: 'settled' })
        else expectProblem(answer, 'request_not_found')
      }
      const trace = await server().operate('requests.trace', { request: id })
      expect(trace).toMatchObject({
        id,
        account: { id: people[owner]?.id, email: people[owner]?.email },
        lane: 'demo/demo-fast',
        attempts: [{ lane: 'demo/demo-fast', outcome: 'finished', status: 200 }],
      })
    }
  })
})
