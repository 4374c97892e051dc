import type { Language, NoticeEvent, NoticeFacts } from '../contract/notices.ts'

/** A mail before it has a recipient. */
export interface MailText {
  readonly subject: string
  /** Sentences, each a paragraph. */
  readonly lines: readonly string[]
  /** Where to go on. */
  readonly link?: { readonly label: string; readonly url: string }
}

type Fact = (name: string) => string
type Text = (fact: Fact) => { readonly subject: string; readonly line: string }

const HOLDERS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { key: 'the key', person: 'the person', team: 'the team', plan: 'the plan' },
  de: { key: 'den Schlüssel', person: 'die Person', team: 'das Team', plan: 'den Tarif' },
}

const CAPS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    ...{ day: 'USD a day', week: 'USD a week', month: 'USD a month', quarter: 'USD a quarter', total: 'USD in total' },
    ...{ requests_day: 'requests a day', tokens_day: 'tokens a day' },
  },
  de: {
    ...{ day: 'USD am Tag', week: 'USD in der Woche', month: 'USD im Monat', quarter: 'USD im Quartal' },
    ...{ total: 'USD insgesamt', requests_day: 'Anfragen am Tag', tokens_day: 'Token am Tag' },
  },
}

const ENGLISH: Readonly<Record<NoticeEvent, Text>> = {
  'balance.low': (fact) => ({
    subject: `Low balance: ${fact('balance')} USD`,
    line: `The wallet has ${fact('balance')} USD left, which is below your threshold of ${fact('threshold')} USD. When it is empty, requests are refused.`,
  }),
  'cap.reached': (fact) => ({
    subject: `${fact('percent')} % of a limit used: ${fact('name')}`,
    line: `${fact('used')} of ${fact('limit')} ${capOf(fact, 'en')} are used for ${HOLDERS.en[fact('holder')] ?? ''} ${fact('name')}. At 100 %, requests are refused until the limit resets or is raised.`,
  }),
  'plan.ended': (fact) => ({
    subject: `Plan ended: ${fact('plan')}`,
    line: `The plan ${fact('plan')} ended on ${dayOf(fact('at'))}. Its keys are refused from then on.`,
  }),
  'plan.renewed': (fact) => ({
    subject: `Plan renewed: ${fact('plan')}`,
    line: `A new month of the plan ${fact('plan')} began on ${dayOf(fact('at'))}. The next one begins on ${dayOf(fact('next_at'))}.`,
  }),
  'key.expiring': (fact) => ({
    subject: `Key expires soon: ${fact('name')}`,
    line: `The key ${fact('name')} (${fact('key')}) expires on ${dayOf(fact('expires_at'))}. Its requests are refused from then on.`,
  }),
  'webhook.off': (fact) => ({
    subject: 'A webhook was switched off',
    line: `The webhook ${fact('webhook')} at ${fact('host')} has failed for three days and gets no further notices. Switch it on again once it works.`,
  }),
  'lane.down': (fact) => ({
    subject: `Lane down: ${fact('lane')}`,
    line: `The circuit of the lane ${fact('lane')} has been open for ${fact('minutes')} minutes (${fact('reason')}). Requests use other lanes, if the model has any.`,
  }),
  'lane.up': (fact) => ({
    subject: `Lane back: ${fact('lane')}`,
    line: `The lane ${fact('lane')} works again.`,
  }),
  'reload.refused': (fact) => ({
    subject: 'Configuration not reloaded',
    line: `The changed configuration has a problem, and the one before stays in force: ${fact('problem')}`,
  }),
  'shortfall.charged': (fact) => ({
    subject: `Charge above the hold: ${fact('account')}`,
    line: `A request cost more than was held for it, and the account ${fact('account')} was not charged ${fact('amount')} USD of it. Request: ${fact('request')}.`,
  }),
  'verification.failed': (fact) => ({
    subject: 'The ledger does not balance',
    line: `Verification found ${fact('violations')} violations: ${fact('checks')}. The accounts concerned are frozen. Run: millrace db verify`,
  }),
}

const GERMAN: Readonly<Record<NoticeEvent, Text>> = {
  'balance.low': (fact) => ({
    subject: `Guthaben niedrig: ${fact('balance')} USD`,
    line: `Das Guthaben beträgt noch ${fact('balance')} USD und liegt unter deiner Grenze von ${fact('threshold')} USD. Ist es aufgebraucht, werden Anfragen abgelehnt.`,
  }),
  'cap.reached': (fact) => ({
    subject: `${fact('percent')} % eines Limits verbraucht: ${fact('name')}`,
    line: `${fact('used')} von ${fact('limit')} ${capOf(fact, 'de')} sind für ${HOLDERS.de[fact('holder')] ?? ''} ${fact('name')} verbraucht. Bei 100 % werden Anfragen abgelehnt, bis das Limit neu beginnt oder erhöht wird.`,
  }),
  'plan.ended': (fact) => ({
    subject: `Tarif beendet: ${fact('plan')}`,
    line: `Der Tarif ${fact('plan')} endete am ${dayOf(fact('at'))}. Seine Schlüssel werden seitdem abgelehnt.`,
  }),
  'plan.renewed': (fact) => ({
    subject: `Tarif verlängert: ${fact('plan')}`,
    line: `Ein neuer Monat des Tarifs ${fact('plan')} begann am ${dayOf(fact('at'))}. Der nächste beginnt am ${dayOf(fact('next_at'))}.`,
  }),
  'key.expiring': (fact) => ({
    subject: `Schlüssel läuft bald ab: ${fact('name')}`,
    line: `Der Schlüssel ${fact('name')} (${fact('key')}) läuft am ${dayOf(fact('expires_at'))} ab. Danach werden seine Anfragen abgelehnt.`,
  }),
  'webhook.off': (fact) => ({
    subject: 'Ein Webhook wurde abgeschaltet',
    line: `Der Webhook ${fact('webhook')} bei ${fact('host')} ist drei Tage lang fehlgeschlagen und erhält keine weiteren Meldungen. Schalte ihn wieder ein, sobald er funktioniert.`,
  }),
  'lane.down': (fact) => ({
    subject: `Lane ausgefallen: ${fact('lane')}`,
    line: `Der Circuit Breaker der Lane ${fact('lane')} ist seit ${fact('minutes')} Minuten offen (${fact('reason')}). Anfragen nutzen andere Lanes, falls das Modell welche hat.`,
  }),
  'lane.up': (fact) => ({
    subject: `Lane wieder verfügbar: ${fact('lane')}`,
    line: `Die Lane ${fact('lane')} funktioniert wieder.`,
  }),
  'reload.refused': (fact) => ({
    subject: 'Konfiguration nicht neu geladen',
    line: `Die geänderte Konfiguration hat einen Fehler, und die bisherige bleibt in Kraft: ${fact('problem')}`,
  }),
  'shortfall.charged': (fact) => ({
    subject: `Kosten über der Reservierung: ${fact('account')}`,
    line: `Eine Anfrage kostete mehr, als für sie reserviert war, und dem Konto ${fact('account')} wurden ${fact('amount')} USD davon nicht berechnet. Anfrage: ${fact('request')}.`,
  }),
  'verification.failed': (fact) => ({
    subject: 'Das Ledger geht nicht auf',
    line: `Die Prüfung fand ${fact('violations')} Verstöße: ${fact('checks')}. Die betroffenen Konten sind gesperrt. Ausführen: millrace db verify`,
  }),
}

const TEXTS: Readonly<Record<Language, Readonly<Record<NoticeEvent, Text>>>> = { en: ENGLISH, de: GERMAN }

/** Of a plan's window its name, such as `5h`. */
const capOf = (fact: Fact, language: Language): string => CAPS[language][fact('cap')] ?? `USD (${fact('cap')})`

const dayOf = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

const OPEN: Readonly<Record<Language, string>> = { en: 'Open the console', de: 'Konsole öffnen' }

export function mailOfNotice(
  event: NoticeEvent,
  facts: NoticeFacts,
  { language, consoleUrl }: { readonly language: Language; readonly consoleUrl: string },
): MailText {
  const { subject, line } = TEXTS[language][event]((name) => oneLine(String(facts[name] ?? '')))
  return { subject, lines: [line], link: { label: OPEN[language], url: `${consoleUrl}/notices` } }
}

/** The mail of an invitation. The link is for the recipient alone. */
export const mailOfInvitation = (
  { link, expiresAt, resets }: { readonly link: string; readonly expiresAt: string; readonly resets: boolean },
  language: Language,
): MailText => {
  const until = dayOf(expiresAt)
  if (language === 'de')
    return resets
      ? {
          subject: 'Neues Passwort für Millrace',
          lines: [
            `Mit diesem Link wählst du ein neues Passwort. Er gilt einmal, bis ${until}.`,
            'Hast du keinen angefordert, dann lösche diese Mail.',
          ],
          link: { label: 'Passwort wählen', url: link },
        }
      : {
          subject: 'Einladung zu Millrace',
          lines: [
            `Du wurdest zu Millrace eingeladen. Der Link gilt einmal, bis ${until}.`,
            'Erwartest du keine Einladung, dann lösche diese Mail.',
          ],
          link: { label: 'Einladung annehmen', url: link },
        }
  return resets
    ? {
        subject: 'A new password for Millrace',
        lines: [
          `With this link you choose a new password. It works once, until ${until}.`,
          'If you did not ask for one, delete this mail.',
        ],
        link: { label: 'Choose a password', url: link },
      }
    : {
        subject: 'Invitation to Millrace',
        lines: [
          `You were invited to Millrace. The link works once, until ${until}.`,
          'If you do not expect an invitation, delete this mail.',
        ],
        link: { label: 'Accept the invitation', url: link },
      }
}

export const TEST_MAIL: MailText = {
  subject: 'Test mail of Millrace',
  lines: ['This server can send mail.'],
}

const FACT_LENGTH_MAX = 500

/** Names are chosen by people: none of them ends a header or begins a line. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, FACT_LENGTH_MAX)

/** The parts of a mail: plain text, and HTML that says the same. */
export function renderMail({ subject, lines, link }: MailText): {
  readonly subject: string
  readonly text: string
  readonly html: string
} {
  const text = [...lines, ...(link === undefined ? [] : [`${link.label}: ${link.url}`])].join('\n\n')
  const paragraphs = lines.map((line) => `<p>${escapeHtml(line)}</p>`)
  const anchor = link === undefined ? [] : [`<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>`]
  const html = `<!doctype html>\n<html><body>\n${[...paragraphs, ...anchor].join('\n')}\n</body></html>\n`
  return { subject: oneLine(subject).slice(0, SUBJECT_LENGTH_MAX), text: `${text}\n`, html }
}

const SUBJECT_LENGTH_MAX = 150

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter]!)
