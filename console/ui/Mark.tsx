/** The logo. Decorative, because the name stands beside it. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" className="shrink-0 text-accent">
      <g fill="none" stroke="currentColor" strokeLinecap="round">
        <circle cx="16" cy="12.6" r="7.4" strokeWidth="2.2" />
        <circle cx="16" cy="12.6" r="1.5" fill="currentColor" stroke="none" />
        <path
          strokeWidth="1.5"
          d="M17.82 13.65L22.41 16.30M16.00 14.70L16.00 20.00M14.18 13.65L9.59 16.30M14.18 11.55L9.59 8.90M16.00 10.50L16.00 5.20M17.82 11.55L22.41 8.90"
        />
        <path
          strokeWidth="2.4"
          d="M23.29 13.88L25.85 16.78M20.76 18.27L20.86 22.13M16.00 20.00L13.59 23.03M11.24 18.27L7.45 19.04M8.71 13.88L5.31 12.04M9.59 8.90L8.17 5.30M13.47 5.65L14.70 1.98M18.53 5.65L21.83 3.63M22.41 8.90L26.23 9.47"
        />
        <path strokeWidth="2.2" d="M2.5 28.4c2.25-2 4.5-2 6.75 0s4.5 2 6.75 0 4.5-2 6.75 0 4.5 2 6.75 0" opacity=".6" />
      </g>
    </svg>
  )
}
