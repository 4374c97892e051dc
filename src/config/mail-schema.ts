import { choice, flag, integer, optionalText, read, section, text, wrong } from './scalars.ts'

const ADDRESS = String.raw`[^\s@<>(),;:"\\[\]]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?`
/** `millrace@example.com`, or `Millrace <millrace@example.com>`. */
const SENDER = new RegExp(String.raw`^(?:[^\p{Cc}<>"@,;]{1,100} <${ADDRESS}>|${ADDRESS})$`, 'u')
const ONE_ADDRESS = 'one mail address, such as millrace@example.com or Millrace <millrace@example.com>'

export const mailSchema = section(
  'The mail server that notices and invitations are handed over to. Without it, none is sent.',
  {
    host: text('Its name or address.', {
      pattern: /^[A-Za-z0-9.:_-]+$/,
      expected: 'a host name or an address',
      charactersMax: 255,
    }),
    port: integer('Its port: usually 587 with starttls, 465 with tls.', [1, 65535]).prefault(587),
    tls: choice(
      'starttls: begin TLS on a plain connection, and send nothing without it. tls: TLS from the first byte. none: no TLS, for a mail server on this machine.',
      ['starttls', 'tls', 'none'],
    ).prefault('starttls'),
    user: optionalText('Name to sign in with; null: without signing in.').prefault(null),
    password: optionalText(`Its password, preferably as \${NAME} or \${file:/path}.`).prefault(null),
    from: text('Sender of the mails, as Millrace <millrace@example.com>.', {
      ...{ pattern: SENDER, expected: ONE_ADDRESS, charactersMax: 400 },
    }),
    reply_to: optionalText('Where answers go; null: to the sender.', (value) =>
      SENDER.test(value) ? read(value) : wrong(ONE_ADDRESS),
    ).prefault(null),
  },
).superRefine(({ user, password }, context) => {
  if ((user === undefined) !== (password === undefined))
    context.addIssue({
      ...{
        code: 'custom',
        path: [user === undefined ? 'user' : 'password'],
        message: 'user and password belong together',
      },
      params: { cure: 'Write both, or none.', whole: true },
    })
})

export const noticesSchema = section('Notices to owners and operators.', {
  allow_private_webhooks: flag(
    'Send to webhooks at private addresses, and over plain HTTP on this machine. Owners enter their addresses: only for servers whose owners you trust.',
  ).prefault(false),
})
