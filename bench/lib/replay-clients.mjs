// Clients that ask for their kept answers again and again, in a process of the lowest priority.
import { Agent } from 'node:http'
import { setPriority } from 'node:os'
import { sendTurn } from './keyed-ask.mjs'

setPriority(19)
process.once('message', async ({ server, seconds, asked }) => {
  const until = performance.now() + seconds * 1000
  const agent = new Agent({ keepAlive: true })
  let replays = 0
  const client = async ([key, body]) => {
    while (performance.now() < until) {
      const { replayed, status } = await sendTurn(server, agent, { key, body: Buffer.from(body) })
      if (!replayed) throw new Error(`an answer was not given again: ${status}`)
      replays += 1
    }
  }
  await Promise.all(asked.map(client))
  agent.destroy()
  process.send(replays)
})
process.on('disconnect', () => process.exit())
