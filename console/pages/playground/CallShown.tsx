import { useWords } from '../../words/WordsProvider.tsx'
import type { ToolCall } from './conversation.ts'

/** A call with its arguments, indented where they are JSON. */
export function CallShown({ call }: { call: ToolCall }) {
  const { playground } = useWords()
  return (
    <figure className="rounded-md border border-line bg-sunken">
      <figcaption className="border-b border-line px-3 py-1 text-sm font-medium break-words">
        {playground.callOf(call.name)}
      </figcaption>
      {call.arguments !== '' && (
        <pre className="overflow-x-auto px-3 py-2 text-sm whitespace-pre-wrap">{indented(call.arguments)}</pre>
      )}
    </figure>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
