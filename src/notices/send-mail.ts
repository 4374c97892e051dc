import type { Secret } from '../lib/secret.ts'
import type { Sent } from '../providers/post-webhook.ts'
import { scrub } from '../telemetry/scrub.ts'
import { type MailText, renderMail } from './texts.ts'

/** Where mail is handed over. */
export interface MailConfig {
  readonly host: string
  readonly port: number
  readonly tls: 'starttls' | 'tls' | 'none'
  readonly user: string | undefined
  readonly password: Secret | undefined
  readonly from: string
  readonly replyTo: string | undefined
}

export interface MailToSend {
  /** Stays the same when a mail is sent again, so that a mailbox can tell. */
  readonly id: string
  readonly to: string
  readonly text: MailText
}

export type Mailer = (mail: MailToSend) => Promise<Sent>

const CONNECT_MS = 10_000
const SILENCE_MS = 15_000
/** All of it. A server that answers each command a moment too late must not take longer. */
const TOTAL_MS = 30_000

/** One address and nothing else: no list, no name, no comment, nothing that a header or a command could end with. */
const ADDRESS = /^[^\s@<>(),;:"\\[\]\p{Cc}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?$/u

export const isMailAddress = (text: string): boolean => ADDRESS.test(text)

/** Sends one mail on one connection. The library is loaded with the first. */
export function createMailer(config: MailConfig, { ca }: { readonly ca?: string } = {}): Mailer {
  return async ({ id, to, text }) => {
    if (!isMailAddress(to)) return { kind: 'refused', status: null, error: 'not an address that mail can be sent to' }
    if (to.toLowerCase() === addressIn(config.from))
      return { kind: 'refused', status: null, error: 'the address of this server itself' }
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({
      host: config.host,
      port: config.port,
      secure: config.tls === 'tls',
      requireTLS: config.tls === 'starttls',
      ignoreTLS: config.tls === 'none',
      ...(config.user === undefined ? {} : { auth: { user: config.user, pass: config.password?.reveal() ?? '' } }),
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(ca === undefined ? {} : { tls: { ca } }),
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        transport.close()
        reject(new Error('the mail server took too long'))
      }, TOTAL_MS)
    })
    try {
      const sending = transport.sendMail({
        from: config.from,
        to: { name: '', address: to },
        ...(config.replyTo === undefined ? {} : { replyTo: config.replyTo }),
        ...renderMail(text),
        messageId: `<${id}@${addressIn(config.from).split('@')[1]}>`,
        // No vacation notice answers it, and no answer of a machine begins a loop.
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      })
      const info = await Promise.race([sending, late])
      return { kind: 'sent', status: null, answer: shorten(info.response) }
    } catch (error) {
      const { responseCode, message, command } = error as Error & { responseCode?: number; command?: string }
      // A password that is refused is repaired, and the mails then go out.
      const isFinal =
        responseCode !== undefined && responseCode >= 500 && command !== undefined && !/AUTH/i.test(command)
      return { kind: isFinal ? 'refused' : 'failed', status: responseCode ?? null, error: shorten(message) }
    } finally {
      clearTimeout(timer)
      transport.close()
    }
  }
}

const ERROR_LENGTH_MAX = 200

/** What the server says is a stranger's text. */
const shorten = (text: string): string =>
  scrub(text)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .slice(0, ERROR_LENGTH_MAX)

/** The bare address of `Millrace <millrace@example.com>`. */
const addressIn = (from: string): string => (/<([^>]*)>\s*$/.exec(from)?.[1] ?? from).trim().toLowerCase()
