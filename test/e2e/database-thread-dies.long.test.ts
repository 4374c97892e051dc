import { afterEach, expect, it } from 'vitest'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { TEST_CONFIG } from '../support/test-config.ts'

let server: SpawnedServer

afterEach(() => server.close())

/** What is loaded before the program: SIGUSR2 ends one of its threads, as a fault in the library of the database would. */
const threadEnds = (place: number): string => `
  let begun = 0
  process.on('worker', (worker) => {
    if (begun++ === ${place}) process.once('SIGUSR2', () => worker.terminate())
  })`

const spawnWith = (place: number) =>
  spawnServer({
    config: TEST_CONFIG,
    environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(threadEnds(place))}` },
  })

const sendTurn = (more: object = {}) =>
  fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'swift', messages: [{ role: 'user', content: 'count to 3' }], ...more }),
  })

it.each([
  ['ledger.db', 0],
  ['content.db', 1],
])(
  'when the worker thread of %s dies, the server exits with code 1 and the next start continues',
  async (file, place) => {
    server = await spawnWith(place)
    expect((await sendTurn()).status).toBe(200)
    const running = await sendTurn({
      model: 'calm',
      stream: true,
      messages: [{ role: 'user', content: 'count to 40' }],
    })
    server.kill('SIGUSR2')
    // Whether it is told to its end or cut, it is over before the server is.
    await running.text().catch(() => {})
    const { code } = await server.ended
    expect(code).toBe(1)
    const [reported] = server.logged('the thread of a database has ended')
    expect(reported).toMatchObject({ level: 'error' })
    expect(JSON.stringify(reported)).toContain(file)

    await server.restart()
    expect((await sendTurn()).status).toBe(200)
    expect(await server.json('db', 'verify')).toMatchObject({ ok: true })
  },
)
