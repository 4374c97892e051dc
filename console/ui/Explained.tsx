interface ExplainedProps {
  readonly title: string
  readonly parts: readonly { readonly id: string; readonly title: string; readonly text: string }[]
}

/** The words of a page, for whoever meets them for the first time. Folded: most people know them after a day. */
export const Explained = ({ title, parts }: ExplainedProps) => (
  <details className="rounded-xl border border-line bg-surface">
    <summary className="min-h-10 px-4 py-2.5 font-semibold select-none">{title}</summary>
    <dl className="grid gap-x-8 gap-y-4 px-4 pt-1 pb-4 sm:grid-cols-2">
      {parts.map((part) => (
        <div key={part.id} className="grid content-start gap-0.5">
          <dt className="font-medium">{part.title}</dt>
          <dd className="text-soft">{part.text}</dd>
        </div>
      ))}
    </dl>
  </details>
)
