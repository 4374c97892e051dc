import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextStep } from './scripted-model.mjs'
import { emitsFirstText, WIRES } from './scripted-model-wires.mjs'

/** A provider on both wires that runs the script of `scripted-model.mjs` and records every request. */
export async function startScriptedProvider() {
  const requests = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    requests.push(body)
    const wire = request.url.endsWith('/responses') ? WIRES.responses : WIRES.chat
    const step = nextStep(wire.read(body))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    await sleep(step.silentMs ?? 0)
    let pauseMs = step.pauseMs ?? 0
    for (const event of wire.write(step)) {
      response.write(`${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
      if (!emitsFirstText(event)) continue
      await sleep(pauseMs)
      pauseMs = 0
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Of one model, in the order in which they came. */
    requestsFor: (model) => requests.filter((body) => body.model === model),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
