import { expect, it } from 'vitest'
import { outputText, written } from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { requestOf } from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import { requestOf as responsesRequestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { CHAT_SPECIMENS } from '../../../test/translation-gaps/chat-specimens.ts'
import { lossRows } from '../../../test/translation-gaps/loss-pages.ts'
import { RESPONSES_SPECIMENS } from '../../../test/translation-gaps/responses-specimens.ts'
import type { Specimen } from '../../../test/translation-gaps/specimen.ts'
import type { Lane } from '../../catalog/catalog.ts'
import { ableLanes } from '../../gateway/plan-turn.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { ANTHROPIC_DIALECTS, type AnthropicDialect } from './dialects.ts'

type Ask = (body: object) => TurnRequest

const CLIENTS: readonly [section: string, specimens: readonly Specimen[], ask: Ask][] = [
  ['What is lost of a Chat request', CHAT_SPECIMENS, requestOf],
  ['What is lost of a Responses request', RESPONSES_SPECIMENS, (body) => responsesRequestOf({ model: 'm', ...body })],
]

function carry(ask: Ask, body: object, dialect: AnthropicDialect) {
  const request = ask(body)
  const { effort, outputCap = 8_000, protocol: client } = request
  const sent = written(conversationIn(request), dialect, { effort, outputCap, client })
  return { body: JSON.stringify(sent.body), leftOut: sent.leftOut }
}

/** A lane that cannot do it is not asked; where there is no other the request is refused. */
function isRefused(request: TurnRequest, dialect: AnthropicDialect): boolean {
  const lane = { upstream: { wire: 'anthropic', dialect: dialect.name }, traits: {} } as unknown as Lane
  return !Array.isArray(ableLanes({ id: 'm', lanes: [lane] }, request))
}

function fateIn(ask: Ask, specimen: Specimen, { name }: AnthropicDialect): string {
  const dialect = outputText(name)
  if (isRefused(ask(specimen.with), dialect)) return 'refused'
  const [without, withIt] = [carry(ask, specimen.without, dialect), carry(ask, specimen.with, dialect)]
  const named = withIt.leftOut.filter((field) => !without.leftOut.includes(field))
  const fate = without.body === withIt.body ? 'lost' : 'sent'
  return named.length === 0 ? fate : `${fate}, named ${named.map((field) => `\`${field}\``).join(', ')}`
}

it.each(CLIENTS)('%s is what the page says', (section, specimens, ask) => {
  const rows = specimens.flatMap((specimen) => {
    const [here = '', elsewhere = ''] = ANTHROPIC_DIALECTS.map((dialect) => fateIn(ask, specimen, dialect))
    return here === 'sent' && elsewhere === 'sent'
      ? []
      : [`${specimen.what} | ${here} | ${here === elsewhere ? '' : elsewhere}`]
  })
  expect(lossRows('to-anthropic', section)).toEqual(rows)
})
