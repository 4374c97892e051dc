import { CopyButton } from './CopyButton.tsx'

interface CodeBlockProps {
  readonly code: string
  readonly label: string
  readonly onCopied?: () => void
}

/** Text for another program, to be copied as it stands. */
export function CodeBlock({ code, label, onCopied }: CodeBlockProps) {
  return (
    <figure className="min-w-0 rounded-lg border border-line bg-sunken">
      <figcaption className="flex items-center justify-between gap-2 border-b border-line ps-3 pe-1">
        <span className="eyebrow">{label}</span>
        <CopyButton text={code} onCopied={onCopied} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 text-sm leading-relaxed">
        <code>{code}</code>
      </pre>
    </figure>
  )
}
