import { createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** A mail as it arrived. */
export interface SunkMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and body, as they were sent. */
  readonly data: string
  readonly isEncrypted: boolean
}

interface SinkOptions {
  /** What the sink answers to a command instead of accepting it; `hang` answers nothing, `close` closes the connection. */
  readonly refuse?: (line: string, state: { readonly mails: number }) => string | 'hang' | 'close' | undefined
  /** Closes the connection once so many bytes of a mail have arrived. */
  readonly closeInData?: (mails: number) => boolean
  /** With a certificate it offers STARTTLS. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** A mail server on this machine that keeps what it gets. */
export async function startMailSink(options: SinkOptions = {}) {
  const mails: SunkMail[] = []
  const sockets = new Set<Socket>()
  let attempts = 0
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.write('220 sink ready\r\n')
    serve(socket, false)
  })

  function serve(socket: Socket, isEncrypted: boolean): void {
    let pending = ''
    let from = ''
    let to: string[] = []
    let data: string | undefined
    const onData = (bytes: Buffer): void => {
      pending += bytes.toString('utf8')
      if (data !== undefined) {
        readData()
        return
      }
      for (let end = pending.indexOf('\r\n'); end !== -1 && data === undefined; end = pending.indexOf('\r\n')) {
        const line = pending.slice(0, end)
        pending = pending.slice(end + 2)
        if (!take(line)) return
      }
      if (data !== undefined) readData()
    }
    const readData = (): void => {
      if (options.closeInData?.(mails.length + attempts) === true) {
        attempts++
        socket.destroy()
        return
      }
      data += pending
      pending = ''
      const end = data!.indexOf('\r\n.\r\n')
      if (end === -1) return
      mails.push({ from, to, data: data!.slice(0, end), isEncrypted })
      pending = data!.slice(end + 5)
      data = undefined
      socket.write('250 2.0.0 kept\r\n')
    }
    /** False once the connection is no longer read here. */
    const take = (line: string): boolean => {
      const refusal = options.refuse?.(line, { mails: mails.length })
      if (refusal === 'hang') return true
      if (refusal === 'close') {
        socket.destroy()
        return false
      }
      if (refusal !== undefined) {
        socket.write(`${refusal}\r\n`)
        return true
      }
      const command = line.slice(0, 4).toUpperCase()
      if (command === 'EHLO') {
        socket.write(
          `250-sink\r\n${options.tls !== undefined && !isEncrypted ? '250-STARTTLS\r\n' : ''}250 AUTH PLAIN\r\n`,
        )
      } else if (command === 'STAR' && options.tls !== undefined) {
        socket.write('220 go on\r\n')
        socket.removeListener('data', onData)
        const secured = new TLSSocket(socket, { isServer: true, ...options.tls })
        secured.on('error', () => {})
        serve(secured, true)
        return false
      } else if (command === 'AUTH') socket.write('235 welcome\r\n')
      else if (command === 'MAIL') {
        from = /<([^>]*)>/.exec(line)?.[1] ?? ''
        to = []
        socket.write('250 ok\r\n')
      } else if (command === 'RCPT') {
        to.push(/<([^>]*)>/.exec(line)?.[1] ?? '')
        socket.write('250 ok\r\n')
      } else if (command === 'DATA') {
        data = ''
        socket.write('354 go on\r\n')
      } else if (command === 'QUIT') {
        socket.end('221 bye\r\n')
      } else socket.write('250 ok\r\n')
      return true
    }
    socket.on('data', onData)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    mails,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

export type MailSink = Awaited<ReturnType<typeof startMailSink>>

/** The text of a mail without its line breaks of transport. */
export const decoded = (mail: SunkMail): string =>
  mail.data
    .replace(/=\r\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'))
