import type { ReactNode } from 'react'
import { cx } from '../../lib/cx.ts'
import { exactSum, isZero, sumMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { RequestDetail } from '../../queries/requests.ts'
import { Panel, useNarrow } from '../../ui/layout.tsx'
import { Money } from '../../ui/values.tsx'

/** The lines of a charge with all digits, so that the user can add them up. */
export function ChargePanel({ request }: { request: RequestDetail }) {
  const { lines: messages } = useMessages().receipt
  const formats = useFormats()
  const narrow = useNarrow()
  const { tier, price_version, lines, cost, state } = request
  const priced = tier === null || tier === 0 ? messages.base : messages.above(formats.count(tier))
  return (
    <Panel title={messages.title} about={messages.about(String(price_version), priced)} padding="flush">
      {lines.length === 0 || cost === null ? (
        <p className="px-4 pt-1 pb-3 text-soft">{state === 'open' ? messages.open : messages.free}</p>
      ) : (
        <div className="overflow-x-auto pb-2">
          <table className="w-full text-sm">
            <caption className="sr-only">{messages.title}</caption>
            <Head narrow={narrow} />
            <tbody>
              {lines.map((line) => (
                <Line key={line.what} line={line} narrow={narrow} />
              ))}
            </tbody>
            <Sums request={request} cost={cost} span={narrow ? 1 : 3} />
          </table>
        </div>
      )}
    </Panel>
  )
}

/** On a narrow screen, tokens and price go below the name to leave room for all digits of the amount. */
function Line({ line, narrow }: { line: RequestDetail['lines'][number]; narrow: boolean }) {
  const { lines: messages } = useMessages().receipt
  const formats = useFormats()
  const tokens = line.tokens === null ? '' : formats.count(line.tokens)
  const price = line.per_million === null ? '' : formats.exactMoney(line.per_million)
  return (
    <tr className="border-b border-line">
      <th scope="row" className="px-4 py-1.5 text-start font-normal">
        {messages[line.what]}
        {line.multiplied_by !== null && (
          <span className="block text-xs text-faint">
            {messages.multiplied(line.multiplied_by.value, formats.count(Number(line.multiplied_by.factor)))}
          </span>
        )}
        {narrow && tokens !== '' && (
          <span className="figures block text-xs text-faint">{messages.times(tokens, price)}</span>
        )}
      </th>
      {!narrow && (
        <>
          <td className={AMOUNT}>{tokens}</td>
          <td className={AMOUNT}>{price}</td>
        </>
      )}
      <td className={cx(AMOUNT, 'pe-4')}>
        <Money amount={line.amount} digits="exact" />
      </td>
    </tr>
  )
}

const AMOUNT = 'figures px-2 py-1.5 text-end whitespace-nowrap'

function Head({ narrow }: { narrow: boolean }) {
  const { lines: messages } = useMessages().receipt
  const names = narrow
    ? [messages.what, messages.amount]
    : [messages.what, messages.tokens, messages.perMillion, messages.amount]
  return (
    <thead>
      <tr className="border-b border-line text-xs text-faint">
        {names.map((name, index) => (
          <th
            key={name}
            scope="col"
            className={cx('py-1.5 font-medium', index === 0 ? 'px-4 text-start' : 'px-2 text-end last:pe-4')}
          >
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function Sums({ request, cost, span }: { request: RequestDetail; cost: string; span: number }) {
  const { lines: messages } = useMessages().receipt
  const { kind, lines, shortfall, charge, hold } = request
  const sum = exactSum(lines.map(({ amount }) => amount))
  const wasRounded = exactSum([cost]) !== sum
  const isShort = shortfall !== null && !isZero(shortfall)
  return (
    <tfoot>
      {wasRounded && (
        <Sum span={span} name={messages.sum}>
          <Money amount={sum} digits="exact" />
        </Sum>
      )}
      <Sum span={span} name={wasRounded ? messages.cost : messages.costExact}>
        <Money amount={cost} digits="exact" />
      </Sum>
      {isShort && (
        <Sum span={span} name={messages.shortfall}>
          <Money amount={`-${shortfall}`} digits="exact" />
        </Sum>
      )}
      {charge !== null && (
        <>
          <Sum span={span} name={messages.charge[kind]} strong>
            <Money amount={charge} digits="exact" />
          </Sum>
          <Sum span={span} name={messages.hold}>
            <Money amount={hold} digits="exact" />
          </Sum>
          <Sum span={span} name={messages.freed}>
            <Money amount={sumMoney(hold, negated(charge))} digits="exact" />
          </Sum>
        </>
      )}
    </tfoot>
  )
}

const negated = (amount: string): string => (amount.startsWith('-') ? amount.slice(1) : `-${amount}`)

interface SumProps {
  readonly name: string
  readonly span: number
  readonly strong?: boolean
  readonly children: ReactNode
}

const Sum = ({ name, span, strong = false, children }: SumProps) => (
  <tr className={strong ? 'border-y border-line font-semibold' : 'text-soft'}>
    <th scope="row" colSpan={span} className={cx('px-4 py-1.5 text-start', strong ? 'font-semibold' : 'font-normal')}>
      {name}
    </th>
    <td className={cx(AMOUNT, 'pe-4')}>{children}</td>
  </tr>
)
