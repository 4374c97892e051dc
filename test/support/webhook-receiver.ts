import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'

export interface Received {
  readonly id: string
  readonly type: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> }
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

/** A receiver of webhooks on this machine. `answer` may be a status, or a wait before it. */
export async function startWebhookReceiver(
  answer: (received: Received, count: number) => number | Promise<number> = () => 204,
) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', async () => {
      const text = Buffer.concat(parts).toString('utf8')
      const body = JSON.parse(text) as Received['body']
      const one = { id: String(request.headers['webhook-id']), type: body.type, body, text, headers: request.headers }
      received.push(one)
      response.writeHead(await answer(one, received.length), { location: 'http://127.0.0.1:1/elsewhere' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>

/** As a receiver checks it (docs/operate/notices.md): true if one of the signatures is by this secret. */
export function isSignedBy(secret: string, { headers, text }: Received): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const wanted = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(wanted)
}
