"""Where files are parsed and chunks embedded: in processes of this machine, or on a Ray cluster."""

from elt_llm_core.settings.tree import Settings

from elt_llm_ingest.compute.compute import Compute, LocalCompute
from elt_llm_ingest.sandbox.guards import ParseLimits


def create_compute(settings: Settings) -> Compute:
    """Create the Compute of the setting `ingest.compute`. Raises UsageError if it is "ray" but Ray is not set up."""
    limits = ParseLimits.of(settings.ingest)
    if settings.ingest.compute == "local":
        return LocalCompute(limits, settings.ingest.workers)
    from elt_llm_ingest.compute.ray_cluster import RayCompute, require_ray

    require_ray(settings.ingest.ray_address)
    return RayCompute(settings, limits)
