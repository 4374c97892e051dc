import { inputTokens } from '../../../lib/input-of.ts'
import { Panel } from '../../../ui/Panel.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { RequestDetail } from '../RequestDetailView.tsx'

const CLASSES = ['uncached_input', 'cached_input', 'cache_write', 'output'] as const

/** Tokens by the classes that have prices of their own; they do not overlap, so they add up. */
export function TokensPanel({ request: { tokens, state } }: { request: RequestDetail }) {
  const { receipt, requests } = useMessages()
  const { tokens: messages } = receipt
  const formats = useFormats()
  if (tokens === null) {
    return (
      <Panel title={messages.title}>
        <p className="text-soft">{state === 'open' ? messages.none : messages.noneEver}</p>
      </Panel>
    )
  }
  return (
    <Panel title={messages.title} {...(tokens.estimated && { about: requests.estimated })}>
      <table className="w-full text-sm">
        <caption className="sr-only">{messages.title}</caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">{messages.kind}</th>
            <th scope="col">{messages.count}</th>
          </tr>
        </thead>
        <tbody>
          {CLASSES.map((name) => (
            <Row key={name} name={messages[name]} count={formats.count(tokens[name])} />
          ))}
          <Row name={messages.reasoning} count={formats.count(tokens.reasoning)} inside />
        </tbody>
        <tfoot>
          <tr className="border-t border-line font-medium">
            <th scope="row" className="pt-1.5 text-start font-medium">
              {messages.total}
            </th>
            <td className="figures pt-1.5 text-end">{formats.count(inputTokens(tokens) + tokens.output)}</td>
          </tr>
        </tfoot>
      </table>
    </Panel>
  )
}

const Row = ({ name, count, inside = false }: { name: string; count: string; inside?: boolean }) => (
  <tr className={inside ? 'text-faint' : undefined}>
    <th scope="row" className={inside ? 'py-1 ps-4 text-start font-normal' : 'py-1 text-start font-normal'}>
      {name}
    </th>
    <td className="figures py-1 text-end">{count}</td>
  </tr>
)
