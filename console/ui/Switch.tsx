import { type ReactNode, useId } from 'react'

interface SwitchProps {
  readonly label: ReactNode
  readonly hint?: string
  readonly on: boolean
  readonly onChange: (on: boolean) => void
  readonly disabled?: boolean
}

/** For what takes effect at once; a form that is sent later has checkboxes. */
export function Switch({ label, hint, on, onChange, disabled = false }: SwitchProps) {
  const id = useId()
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="grid gap-0.5">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-xs text-faint">
            {hint}
          </p>
        )}
      </div>
      <span className="relative inline-flex h-6 w-10 shrink-0">
        <input
          id={id}
          type="checkbox"
          role="switch"
          checked={on}
          aria-checked={on}
          disabled={disabled}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={(event) => onChange(event.target.checked)}
          className="peer absolute inset-0 m-0 appearance-none rounded-full border border-edge bg-sunken transition-colors checked:border-accent checked:bg-accent disabled:opacity-50"
        />
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-1 start-1 size-4 rounded-full bg-edge transition-all peer-checked:start-5 peer-checked:bg-on-accent"
        />
      </span>
    </div>
  )
}
