/** The services of the contract. Apart from the messages, since this loads gRPC, which workers have no use for. */
export * from './generated/sluice/v1/enrolment_service.ts'
export * from './generated/sluice/v1/fleet_service.ts'
export * from './generated/sluice/v1/telemetry_service.ts'
