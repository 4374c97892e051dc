// A provider in a process of its own: it is told what to say to whom, and says it in the pieces that it was given.
import { createServer } from 'node:http'

const waiting = new Map()
const scriptOf = (number) => {
  const known = waiting.get(number)
  if (known !== undefined) return known
  let give
  const promise = new Promise((resolve) => {
    give = resolve
  })
  const made = { promise, give }
  waiting.set(number, made)
  return made
}

process.on('message', ({ number, script }) => {
  if (script === undefined) waiting.delete(number)
  else scriptOf(number).give(script)
})
process.on('disconnect', () => process.exit())

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const [, number] = /script-(\d+)-/.exec(body) ?? []
  process.send({ number: Number(number), body })
  const { pieces, form, breaks } = await scriptOf(Number(number)).promise
  const { socket } = response
  socket.setNoDelay(true)
  response.on('error', () => {})
  response.writeHead(200, { 'content-type': form === 'json' ? 'application/json' : 'text/event-stream' })
  for (const piece of pieces) {
    if (socket.destroyed) return
    if (piece.length > 0) response.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (breaks) response.write('', () => setImmediate(() => socket.destroy()))
  else response.end()
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
